// Changes that both engines make in the same way: users, tokens, refused and skipped entries.

import type { NewAccessToken, SignInOrder, LinkRedemption } from '../ports/control-writer.ts'
import type { Clock } from '../ports/system.ts'
import {
  dropRefused,
  keepRefused,
  makeRoomForRefused,
  noteRefusedRetries,
  noteSkipped,
  noteStoredLines,
} from './refused.ts'
import { createOwnToken, rotateOwnToken } from './own-tokens.ts'
import { createSignInLink, redeemSignInLink, signIn } from './sign-in.ts'
import { createToken, revokeToken, rotateToken } from './tokens.ts'
import { createUser, renameUser, unlinkIdentity } from './users.ts'
import type { AddState } from './users.ts'

/** Calls of `WriterCalls`, one transaction each. */
export function controlWrites(clock: Clock, addUserState: AddState) {
  return {
    createUser: (email: string, name: string) =>
      createUser({ email, name, nowMs: clock.nowMs() }, addUserState),
    renameUser,
    signIn: (order: SignInOrder) => signIn(order, clock.nowMs(), addUserState),
    createSignInLink,
    redeemSignInLink: (order: LinkRedemption) => redeemSignInLink(order, addUserState),
    unlinkIdentity: (userId: number, issuer: string) =>
      unlinkIdentity(userId, issuer, clock.nowMs()),
    createToken: (token: NewAccessToken) => createToken(token, clock.nowMs()),
    createOwnToken,
    revokeToken: (tokenId: number) => revokeToken(tokenId, clock.nowMs()),
    rotateToken,
    rotateOwnToken,
    noteSkipped,
    noteStoredLines,
    keepRefused,
    noteRefusedRetries,
    dropRefused,
    makeRoomForRefused,
  }
}
