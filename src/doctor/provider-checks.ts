// Identity providers: whether each is reachable and is the issuer in the settings.

import type { IdentityProviderConfig } from '../config.ts'
import { discover } from '../oidc/discovery.ts'
import { ANSWER_MS_MAX, Check, reasonOf } from './check.ts'
import { clockOf } from './store-checks.ts'
import type { ServerResult } from './store-checks.ts'

const providerCheck = new Check('provider')

export async function checkProvider({ id, issuer }: IdentityProviderConfig): Promise<ServerResult> {
  const name = id.toUpperCase()
  try {
    const { date } = await discover(issuer, AbortSignal.timeout(ANSWER_MS_MAX))
    return {
      results: [providerCheck.ok(`${name} at ${issuer} answers`)],
      clock: clockOf(`the identity provider ${name}`, date),
    }
  } catch (error) {
    const message = `the identity provider ${name} at ${issuer} cannot be used: ${reasonOf(error)}`
    const remedy = `set IDP_${name}_ISSUER to what it calls itself, or make it reachable from here`
    return { results: [providerCheck.wrong(message, remedy)], clock: undefined }
  }
}
