// Signing in with a one-time link.

import type { LinkUse, SignInLinks } from '../../access/sign-in-links.ts'
import { isEmail } from '../../domain/access.ts'
import { answerJson } from '../call/call.ts'
import type { Call } from '../call/call.ts'
import { presentSignIn } from '../answers/present.ts'
import type { SmallBodyReader } from '../body/read-small-body.ts'
import type { AddressLimit } from '../callers/rate-limit.ts'
import { nameFaults, openJsonInput } from '../routes/input.ts'
import type { OpenInput, Sent } from '../routes/input.ts'
import { appNameOf } from './sign-in.ts'

/** The code of a link; counted against its address before the body is read. */
export function linkSignInRequest(
  bodies: SmallBodyReader,
  limit: AddressLimit,
): OpenInput<LinkUse> {
  return openJsonInput('link-sign-in', bodies, {
    before: ({ ctx }) => limit.count(ctx.req),
    read: (sent, { ctx }) => ({ ...readUse(sent), appName: appNameOf(ctx) }),
  })
}

function readUse({ members, faults }: Sent<unknown>): Omit<LinkUse, 'appName'> {
  const { code, code_verifier: codeVerifier, email, name } = members
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
