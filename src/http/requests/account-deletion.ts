// A person deletes their own account, from the app: the stores demand it where an app creates them.

import type { AccessTokens } from '../../access/tokens.ts'
import { foldEmail } from '../../domain/access.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import { MINUTE_MS } from '../../domain/time.ts'
import type { ApiCall } from '../call.ts'
import type { MobileSettings } from '../answers/sign-in-settings.ts'
import { jsonBody } from '../body/gate.ts'
import { requireNewSession } from '../callers/authenticate.ts'
import type { BodyGate } from '../body/gate.ts'
import { isAccountDeletion, validated } from '../body/validate.ts'
import { readBody } from '../input.ts'
import type { Input } from '../input.ts'

const SESSION_AGE_MS_MAX = 10 * MINUTE_MS
const NOT_HERE = 'People cannot delete their accounts here: ask the operator.'
const NOT_THIS_ONE =
  'An operator made this account, or daemons send with its tokens: ask the operator to delete it.'

/** The address of the account; what the token may do is checked before the body is read. */
export function accountDeletion(
  bodies: BodyGate,
  { mayDeleteAccount }: Pick<MobileSettings, 'mayDeleteAccount'>,
): Input<undefined> {
  const read = (call: ApiCall) => {
    const { user } = call.principal
    if (!mayDeleteAccount) throw new ServiceError('insufficient_scope', { detail: NOT_HERE })
    requireNewSession(call, SESSION_AGE_MS_MAX)
    return readBody(bodies, call, (body, faults) => checkAddress(body, user.email, faults))
  }
  return { bounds: jsonBody, schema: 'account-deletion', read }
}

function checkAddress(body: unknown, own: string, faults: RequestFault[]): undefined {
  const { email } = validated(isAccountDeletion, body, faults) ?? {}
  if (email === undefined || foldEmail(email) === foldEmail(own)) return
  faults.push({ pointer: '/email', code: 'const', detail: 'must be the address of your account' })
}

export function deleteAccount(tokens: AccessTokens) {
  return async ({ ctx, principal }: ApiCall): Promise<void> => {
    const isDeleted = await tokens.deleteAccount(principal.user.id)
    if (!isDeleted) throw new ServiceError('insufficient_scope', { detail: NOT_THIS_ONE })
    ctx.status = 204
  }
}
