// ControlWriter and StoreUpkeep on an engine's calls: what follows a call is here, once for both
// engines.

import { postponedError } from '../domain/errors.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { StoreUpkeep } from '../ports/store-upkeep.ts'

/** Further calls of a user are refused. */
const WAITING_MAX = 128

export interface Writers extends ControlWriter, StoreUpkeep {}

/** One transaction each. */
export interface WriterCalls extends Writers {
  /** Call after keeping more refused entries. */
  makeRoomForRefused(): Promise<void>
}

/** @param onJournalled is told the number of measurements in new journal rows */
export function createWriters(
  calls: WriterCalls,
  onJournalled: (measurements: number) => void,
): Writers {
  const tellIf = (isDone: boolean) => isDone && onJournalled(0)
  const makeRoom = () => calls.makeRoomForRefused()
  const keep = following(calls.keepRefused, makeRoom)
  const keepInTurn = oneOfAUser('Too many measurements are set aside.')
  const changeInTurn = oneOfAUser('Too many changes of sensors are waiting.')
  const inTurn =
    <Rest extends unknown[], Result>(call: (userId: number, ...rest: Rest) => Promise<Result>) =>
    (userId: number, ...rest: Rest) =>
      changeInTurn(userId, () => call(userId, ...rest))
  return {
    ...calls,
    keepRefused: (refused) => keepInTurn(refused[0]?.userId ?? 0, () => keep(refused)),
    noteRefusedRetries: following(calls.noteRefusedRetries, makeRoom),
    deleteUser: following(calls.deleteUser, (sensors) => tellIf(sensors !== undefined)),
    deleteAccount: following(calls.deleteAccount, (isDeleted) => tellIf(isDeleted === true)),
    createSensor: inTurn(
      following(calls.createSensor, (sensor) => tellIf(typeof sensor === 'object')),
    ),
    changeSensor: inTurn(following(calls.changeSensor, (sensor) => tellIf(sensor !== undefined))),
    deleteSensor: inTurn(following(calls.deleteSensor, tellIf)),
    retrySetAside: following(calls.retrySetAside, (count) => count > 0 && onJournalled(count)),
  }
}

/** Adds a step between a call and returning its result. */
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
 * Runs one call of a user at a time: each waits for the user's row, so many at once would occupy
 * all connections to a database.
 *
 * @param detail of the refusal of further calls
 */
function oneOfAUser(detail: string) {
  const ofUsers = new Map<number, { last: Promise<unknown>; count: number }>()
  return async <Result>(userId: number, call: () => Promise<Result>): Promise<Result> => {
    const calls = ofUsers.get(userId) ?? { last: Promise.resolve(), count: 0 }
    if (calls.count >= WAITING_MAX) throw postponedError('overloaded', { detail })
    ofUsers.set(userId, calls)
    calls.count++
    const called = calls.last.then(call, call)
    calls.last = called
    try {
      return await called
    } finally {
      if (--calls.count === 0) ofUsers.delete(userId)
    }
  }
}
