// Signing in and out.

import type { SignIn } from '../../access/sign-in.ts'
import type { AccessTokens } from '../../access/tokens.ts'
import type { AuthorizationGrant } from '../../domain/access.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import { answerJson } from '../call.ts'
import type { ApiCall, Call } from '../call.ts'
import { presentSignIn } from '../answers/present.ts'
import { isRedirectUri } from '../answers/sign-in-settings.ts'
import type { MobileSettings } from '../answers/sign-in-settings.ts'
import { signInBody } from '../body/gate.ts'
import { faultsIn, isSignIn } from '../body/validate.ts'
import type { SmallBodyReader } from '../body/read-small-body.ts'
import type { AddressLimit } from '../callers/rate-limit.ts'
import { membersOf, refuseParameters, throwFaults } from '../input.ts'
import type { Input } from '../input.ts'

/** What an app brings back; counted against its address before the body is read. */
export function signInRequest(
  bodies: SmallBodyReader,
  limit: AddressLimit,
  settings: MobileSettings,
): Input<AuthorizationGrant, Call> {
  const read = async (call: Call) => {
    const { ctx, query, parameters } = call
    const provider = settings.signInProviders.find(({ id }) => id === parameters['idp'])
    if (provider === undefined) throw new ServiceError('unknown_provider')
    await limit.count(ctx.req)
    const body = await bodies.readJson(call)
    const faults: RequestFault[] = []
    refuseParameters(query, faults)
    const grant = readGrant(body, faults, (redirectUri) =>
      isRedirectUri(redirectUri, provider, settings),
    )
    throwFaults(faults)
    return grant
  }
  return { bounds: signInBody, schema: 'sign-in', read }
}

/**
 * The grant of a valid sign-in; faults are added to `faults`.
 *
 * @param isTaken whether a redirect URI is configured
 */
function readGrant(
  body: unknown,
  faults: RequestFault[],
  isTaken: (redirectUri: string) => boolean,
): AuthorizationGrant {
  faults.push(...faultsIn(isSignIn, body))
  const { code, code_verifier: codeVerifier, redirect_uri: redirectUri } = membersOf(body)
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

export function logOut(tokens: AccessTokens) {
  return async ({ ctx, principal }: ApiCall): Promise<void> => {
    await tokens.revoke(principal.token.id)
    ctx.status = 204
  }
}
