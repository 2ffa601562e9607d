// ControlWriter and StoreUpkeep over the calls of an engine: what follows a call stands here, once
// for both.

import type { ControlWriter } from '../ports/control-writer.ts'
import type { StoreUpkeep } from '../ports/store-upkeep.ts'

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
    keepRefused: following(calls.keepRefused, makeRoom),
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
