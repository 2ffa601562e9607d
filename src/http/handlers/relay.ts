// For identity providers that refuse the custom schemes of apps: they send people to this address,
// and it sends them on to the app, with what OAuth has to say and nothing else. Nothing is kept and
// nothing is logged; the code is of no use without the verifier, which has never left the phone.

import { ServiceError } from '../../domain/errors.ts'
import type { Call } from '../call.ts'
import type { MobileSettings } from '../sign-in-settings.ts'

const RELAYED = ['code', 'state', 'iss', 'error', 'error_description']
const SEE_OTHER = 303

export function relayToApp({ signInProviders, callbackUrl }: MobileSettings) {
  return ({ ctx, parameters }: Call, received: URLSearchParams): void => {
    const isThere = signInProviders.some(({ id }) => id === parameters['idp'])
    if (!isThere || callbackUrl === undefined) throw new ServiceError('unknown_provider')
    const relayed = new URLSearchParams()
    for (const name of RELAYED) {
      const [value, another] = received.getAll(name)
      if (another !== undefined) {
        throw new ServiceError('invalid_request', { detail: `${name} is there more than once.` })
      }
      if (value !== undefined) relayed.set(name, value)
    }
    const separator = callbackUrl.includes('?') ? '&' : '?'
    // Not by ctx.redirect: it would write the address into the body as well.
    ctx.body = null
    ctx.status = SEE_OTHER
    ctx.set('Location', callbackUrl + (relayed.size === 0 ? '' : separator + relayed.toString()))
  }
}
