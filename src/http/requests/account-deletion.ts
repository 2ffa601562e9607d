// A person deletes their own account, from the app: the stores demand it where an app creates them.

import type { AccessTokens } from '../../access/tokens.ts'
import { foldEmail } from '../../domain/access.ts'
import { ServiceError } from '../../domain/errors.ts'
import { MINUTE_MS } from '../../domain/time.ts'
import type { ApiCall } from '../call/call.ts'
import type { MobileSettings } from '../answers/sign-in-settings.ts'
import { requireNewSession } from '../callers/authenticate.ts'
import { jsonInput } from '../routes/input.ts'
import type { Input } from '../routes/input.ts'

const SESSION_AGE_MS_MAX = 10 * MINUTE_MS
const NOT_HERE = 'People cannot delete their accounts here: ask the operator.'
const NOT_THIS_ONE =
  'An operator made this account, or daemons send with its tokens: ask the operator to delete it.'

/** The address of the account; what the token may do is checked before the body is read. */
export function accountDeletion({
  mayDeleteAccount,
}: Pick<MobileSettings, 'mayDeleteAccount'>): Input<undefined> {
  return jsonInput('account-deletion', {
    before(call) {
      if (!mayDeleteAccount) throw new ServiceError('insufficient_scope', { detail: NOT_HERE })
      requireNewSession(call, SESSION_AGE_MS_MAX)
    },
    read({ valid, faults }, { principal: { user } }) {
      if (valid === undefined || foldEmail(valid.email) === foldEmail(user.email)) return undefined
      const detail = 'must be the address of your account'
      faults.push({ pointer: '/email', code: 'const', detail })
      return undefined
    },
  })
}

export function deleteAccount(tokens: AccessTokens) {
  return async ({ ctx, principal }: ApiCall): Promise<void> => {
    const isDeleted = await tokens.deleteAccount(principal.user.id)
    // Another request of the same person was faster.
    if (isDeleted === undefined) throw new ServiceError('invalid_token')
    if (!isDeleted) throw new ServiceError('insufficient_scope', { detail: NOT_THIS_ONE })
    ctx.status = 204
  }
}
