// ControlWriter, StoreUpkeep and StoreChoice for the main thread: each call goes to the commit
// thread.

import { createWriters } from '../../control/writers.ts'
import type { Writers } from '../../control/writers.ts'
import type { StoreChoice } from '../../ports/store-upkeep.ts'
import type { Commands } from '../commit/commands.ts'
import type { CommitChannel } from '../commit/commit-channel.ts'

// prettier-ignore
const CALLS = [
  'createUser', 'renameUser', 'deleteUser', 'deleteAccount', 'signIn', 'createSignInLink',
  'redeemSignInLink', 'unlinkIdentity', 'createToken', 'createOwnToken', 'revokeToken',
  'rotateToken', 'rotateOwnToken', 'recordTokenUses', 'noteSkipped', 'noteStoredLines',
  'keepRefused', 'noteRefusedRetries', 'dropRefused', 'createSensor', 'changeSensor',
  'deleteSensor', 'adoptStore', 'switchStore', 'retrySetAside', 'dropSetAside',
  'makeRoomForRefused',
] as const

/** @param onJournalled is told of new journal rows and their number of measurements */
export function createControlWriter(
  channel: CommitChannel,
  onJournalled: (measurements: number) => void,
): Writers & StoreChoice {
  const calls = CALLS.map((name) => {
    return [name, (...args: Parameters<Commands[typeof name]>) => channel.call(name, ...args)]
  })
  const all = Object.fromEntries(calls) as Pick<Commands, (typeof CALLS)[number]>
  const { adoptStore, switchStore } = all
  return { ...createWriters(all, onJournalled), adoptStore, switchStore }
}
