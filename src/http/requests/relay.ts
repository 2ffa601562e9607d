// For identity providers that refuse the custom schemes of apps: they send people to this URL,
// which redirects to the app with the OAuth parameters and nothing else. Nothing is stored or
// logged; the code is useless without the verifier, which has never left the phone.

import { ServiceError } from '../../domain/errors.ts'
import type { Call } from '../call/call.ts'
import type { MobileSettings } from '../answers/sign-in-settings.ts'
import { openForm } from '../body/gate.ts'
import type { SmallBodyReader } from '../body/read-small-body.ts'
import { none } from '../routes/input.ts'
import type { OpenInput } from '../routes/input.ts'

const RELAYED = ['code', 'state', 'iss', 'error', 'error_description']
const SEE_OTHER = 303

/** The provider's response, in the query. */
export const relayedQuery: OpenInput<URLSearchParams> = {
  ...none,
  read: ({ query }) => new URLSearchParams(query),
}

/** The provider's response, as a posted form. */
export function relayedForm(bodies: SmallBodyReader): OpenInput<URLSearchParams> {
  return { bounds: openForm, read: (call) => bodies.readForm(call) }
}

export function relayToApp({ signInProviders, callbackUrl }: MobileSettings) {
  return ({ ctx, parameters }: Call, received: URLSearchParams): void => {
    const isThere = signInProviders.some(({ id }) => id === parameters['idp'])
    if (!isThere || callbackUrl === undefined) throw new ServiceError('unknown_provider')
    const relayed = new URLSearchParams()
    for (const name of RELAYED) {
      const [value, another] = received.getAll(name)
      if (another !== undefined) {
        throw new ServiceError('invalid_request', { detail: `${name} appears more than once.` })
      }
      if (value !== undefined) relayed.set(name, value)
    }
    const separator = callbackUrl.includes('?') ? '&' : '?'
    // Not ctx.redirect, which would also write the URL into the body.
    ctx.body = null
    ctx.status = SEE_OTHER
    ctx.set('Location', callbackUrl + (relayed.size === 0 ? '' : separator + relayed.toString()))
  }
}
