// ControlWriter and StoreUpkeep over the calls of an engine: what follows a call stands here, once
// for both.

import { postponedError } from '../domain/errors.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { Refused } from '../ports/refused.ts'
import type { StoreUpkeep } from '../ports/store-upkeep.ts'

/** Further calls of a user are refused. */
const WAITING_MAX = 128

export interface Writers extends ControlWriter, StoreUpkeep {}

/** A transaction each. */
export interface WriterCalls extends Writers {
  /** For after calls that keep more of what was refused. */
  makeRoomForRefused(): Promise<void>
}

/** @param onJournalled told of new journal rows, with how many measurements they have */
export function createWriters(
  calls: WriterCalls,
  onJournalled: (measurements: number) => void,
): Writers {
  const tellIf = (isDone: boolean) => isDone && onJournalled(0)
  const makeRoom = () => calls.makeRoomForRefused()
  return {
    ...calls,
    keepRefused: oneOfAUser(following(calls.keepRefused, makeRoom)),
    noteRefusedRetries: following(calls.noteRefusedRetries, makeRoom),
    deleteUser: following(calls.deleteUser, (sensors) => tellIf(sensors !== undefined)),
    deleteAccount: following(calls.deleteAccount, tellIf),
    createSensor: following(calls.createSensor, (sensor) => tellIf(typeof sensor === 'object')),
    changeSensor: following(calls.changeSensor, (sensor) => tellIf(sensor !== undefined)),
    deleteSensor: following(calls.deleteSensor, tellIf),
    retrySetAside: following(calls.retrySetAside, (count) => count > 0 && onJournalled(count)),
  }
}

/** The call, with what is done before its result is returned. */
function following<Args extends unknown[], Result>(
  call: (...args: Args) => Promise<Result>,
  follow: (result: Result) => unknown,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    const result = await call(...args)
    await follow(result)
    return result
  }
}

/**
 * One call of a user at a time: each waits for the user's row, and many at once would have all
 * connections to a database.
 */
function oneOfAUser(
  keep: (refused: readonly Refused[]) => Promise<void>,
): (refused: readonly Refused[]) => Promise<void> {
  const ofUsers = new Map<number, { last: Promise<void>; count: number }>()
  return async (refused) => {
    const userId = refused[0]?.userId ?? 0
    const calls = ofUsers.get(userId) ?? { last: Promise.resolve(), count: 0 }
    if (calls.count >= WAITING_MAX) {
      throw postponedError('overloaded', {
        detail: 'Too many refused measurements are being kept.',
      })
    }
    ofUsers.set(userId, calls)
    calls.count++
    const begin = () => keep(refused)
    calls.last = calls.last.then(begin, begin)
    try {
      await calls.last
    } finally {
      if (--calls.count === 0) ofUsers.delete(userId)
    }
  }
}
