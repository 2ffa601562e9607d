// Signing in.

import type { SignIn } from '../../access/sign-in.ts'
import type { AuthorizationGrant } from '../../domain/access.ts'
import { ServiceError } from '../../domain/errors.ts'
import { answerJson } from '../call/call.ts'
import type { Call } from '../call/call.ts'
import { presentSignIn } from '../answers/present.ts'
import { isRedirectUri } from '../answers/sign-in-settings.ts'
import type { MobileSettings } from '../answers/sign-in-settings.ts'
import type { SmallBodyReader } from '../body/read-small-body.ts'
import type { AddressLimit } from '../callers/rate-limit.ts'
import { openJsonInput } from '../routes/input.ts'
import type { OpenInput, Sent } from '../routes/input.ts'

/** What an app brings back; counted against its address before the body is read. */
export function signInRequest(
  bodies: SmallBodyReader,
  limit: AddressLimit,
  settings: MobileSettings,
): OpenInput<AuthorizationGrant> {
  const providerOf = ({ parameters }: Call) => {
    const provider = settings.signInProviders.find(({ id }) => id === parameters['idp'])
    if (provider === undefined) throw new ServiceError('unknown_provider')
    return provider
  }
  return openJsonInput('sign-in', bodies, {
    before(call) {
      providerOf(call)
      return limit.count(call.ctx.req)
    },
    read: (sent, call) =>
      readGrant(sent, (redirectUri) => isRedirectUri(redirectUri, providerOf(call), settings)),
  })
}

/** @param isTaken whether a redirect URI is configured */
function readGrant(
  { members, faults }: Sent<unknown>,
  isTaken: (redirectUri: string) => boolean,
): AuthorizationGrant {
  const { code, code_verifier: codeVerifier, redirect_uri: redirectUri } = members
  if (typeof redirectUri === 'string' && !isTaken(redirectUri)) {
    const detail = 'must be one of the configured redirect URIs, byte for byte'
    faults.push({ pointer: '/redirect_uri', code: 'unknown_redirect_uri', detail })
  }
  return {
    code: String(code),
    codeVerifier: String(codeVerifier),
    redirectUri: String(redirectUri),
  }
}

export function postSignIn(signIn: SignIn) {
  return async (call: Call, grant: AuthorizationGrant): Promise<void> => {
    const { ctx, parameters } = call
    const signedIn = await signIn.signIn(parameters['idp'] ?? '', grant, appNameOf(ctx))
    answerJson(call, 200, JSON.stringify(presentSignIn(signedIn)))
  }
}

/** What the app calls itself, in UTF-8. */
export function appNameOf(ctx: Call['ctx']): string {
  return Buffer.from(ctx.get('X-App-Name') || ctx.get('User-Agent'), 'latin1').toString()
}
