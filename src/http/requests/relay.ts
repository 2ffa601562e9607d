// For identity providers that refuse the custom schemes of apps: they send people to this address,
// and it sends them on to the app, with what OAuth has to say and nothing else. Nothing is kept and
// nothing is logged; the code is of no use without the verifier, which has never left the phone.

import { ServiceError } from '../../domain/errors.ts'
import type { Call } from '../answers/call.ts'
import type { MobileSettings } from '../answers/sign-in-settings.ts'
import type { SmallBodyReader } from '../body/read-small-body.ts'
import type { Input } from './input.ts'

const RELAYED = ['code', 'state', 'iss', 'error', 'error_description']
const SEE_OTHER = 303

/** What an identity provider has to say, in the query that it sends a browser with. */
export const relayedQuery: Input<URLSearchParams, Call> = {
  place: 'query',
  schema: undefined,
  read: ({ query }) => new URLSearchParams(query),
}

/** The same in the form that it has a browser post. */
export function relayedForm(bodies: SmallBodyReader): Input<URLSearchParams, Call> {
  return { place: 'body', schema: undefined, read: ({ ctx }) => bodies.readForm(ctx) }
}

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
