// Signing in with a one-time link.

import type { LinkUse, SignInLinks } from '../../access/sign-in-links.ts'
import { isEmail } from '../../domain/access.ts'
import type { RequestFault } from '../../domain/errors.ts'
import { answerJson } from '../call.ts'
import type { Call } from '../call.ts'
import { presentSignIn } from '../answers/present.ts'
import { signInBody } from '../body/gate.ts'
import type { SmallBodyReader } from '../body/read-small-body.ts'
import { faultsIn, isLinkSignIn } from '../body/validate.ts'
import type { AddressLimit } from '../callers/rate-limit.ts'
import { membersOf, nameFaults, readValid } from '../input.ts'
import type { Input } from '../input.ts'
import { appNameOf } from './sign-in.ts'

/** The code of a link; counted against its address before the body is read. */
export function linkSignInRequest(
  bodies: SmallBodyReader,
  limit: AddressLimit,
): Input<LinkUse, Call> {
  const read = async (call: Call) => {
    const { ctx, query } = call
    await limit.count(ctx.req)
    const body = await bodies.readJson(call)
    return { ...readValid(body, query, readUse), appName: appNameOf(ctx) }
  }
  return { bounds: signInBody, schema: 'link-sign-in', read }
}

function readUse(body: unknown, faults: RequestFault[]): Omit<LinkUse, 'appName'> {
  faults.push(...faultsIn(isLinkSignIn, body))
  const { code, code_verifier: codeVerifier, email, name } = membersOf(body)
  const use = { code: String(code), codeVerifier: String(codeVerifier) }
  if (typeof email !== 'string') return { ...use, firstUser: undefined }
  const address = email.trim()
  const trimmed = typeof name === 'string' ? name.trim() : ''
  if (!isEmail(address)) {
    faults.push({ pointer: '/email', code: 'format', detail: 'must be like a@example.org' })
  }
  faults.push(...nameFaults('/name', trimmed))
  return { ...use, firstUser: { email: address, name: trimmed } }
}

export function postLinkSignIn(links: SignInLinks) {
  return async (call: Call, use: LinkUse): Promise<void> => {
    answerJson(call, 200, JSON.stringify(presentSignIn(await links.redeem(use))))
  }
}
