// What both engines change alike of users, tokens, and what was refused or skipped.

import type { NewAccessToken, SignInOrder, LinkRedemption } from '../ports/control-writer.ts'
import type { Clock } from '../ports/system.ts'
import { dropRefused, keepRefused, makeRoomForRefused, noteRefusedRetries } from './refused.ts'
import { createSignInLink, redeemSignInLink, signIn } from './sign-in.ts'
import { noteSkipped, noteStoredLines } from './skipped.ts'
import { createToken, revokeToken, rotateToken } from './tokens.ts'
import { createUser, renameUser, unlinkIdentity } from './users.ts'
import type { AddState } from './users.ts'

/**
 * Calls of `ControlWriter`, a transaction each; and one for after those that keep more of what was
 * refused.
 */
export function controlWrites(clock: Clock, addState: AddState) {
  return {
    createUser: (email: string, name: string) =>
      createUser({ email, name, nowMs: clock.nowMs() }, addState),
    renameUser,
    signIn: (order: SignInOrder) => signIn(order, clock.nowMs(), addState),
    createSignInLink,
    redeemSignInLink: (order: LinkRedemption) => redeemSignInLink(order, addState),
    unlinkIdentity: (userId: number, issuer: string) =>
      unlinkIdentity(userId, issuer, clock.nowMs()),
    createToken: (token: NewAccessToken) => createToken(token, clock.nowMs()),
    revokeToken: (tokenId: number) => revokeToken(tokenId, clock.nowMs()),
    rotateToken,
    noteSkipped,
    noteStoredLines,
    keepRefused,
    noteRefusedRetries,
    dropRefused,
    makeRoomForRefused,
  }
}
