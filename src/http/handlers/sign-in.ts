// Signing in and out.

import type { SignIn } from '../../access/sign-in.ts'
import type { AccessTokens } from '../../access/tokens.ts'
import type { AuthorizationGrant } from '../../domain/access.ts'
import { answerJson } from '../call.ts'
import type { ApiCall, Call } from '../call.ts'
import { presentSignIn } from '../present.ts'

export function postSignIn(signIn: SignIn) {
  return async (call: Call, grant: AuthorizationGrant): Promise<void> => {
    const signedIn = await signIn.signIn(call.parameters['idp'] ?? '', grant)
    answerJson(call, 200, JSON.stringify(presentSignIn(signedIn)))
  }
}

export function logOut(tokens: AccessTokens) {
  return async ({ ctx, principal }: ApiCall): Promise<void> => {
    await tokens.revoke(principal.token.id)
    ctx.status = 204
  }
}
