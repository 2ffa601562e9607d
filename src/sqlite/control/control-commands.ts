// All that the commit thread can be asked to do besides submissions.

import type { Flow } from '../../control/flow.ts'
import { controlWrites } from '../../control/writes.ts'
import type { Clock } from '../../ports/system.ts'
import type { Commands } from '../commit/commands.ts'
import type { SensorDirectory } from '../commit/sensor-directory.ts'
import type { Connection } from '../database.ts'
import { SetAside } from '../journal/set-aside.ts'
import { FlowRunner } from '../run-flow.ts'
import { acceptClock } from './receipts.ts'
import type { UserDeletions } from './deletions.ts'
import { sensorCommands } from './sensor-commands.ts'
import { storeWrites } from './store-records.ts'

/** The calls of a port, but answered synchronously. */
type Synchronous<Port> = {
  [Call in keyof Port]: Port[Call] extends (...args: infer Args) => Promise<infer Result>
    ? (...args: Args) => Result
    : never
}

export type ControlCommands = Synchronous<Commands>

const RECORD_USE = `
  UPDATE access_tokens SET last_used_at_ms = max(ifnull(last_used_at_ms, 0), ?) WHERE id = ?`
/** Nothing else is kept of a user here. */
function* addUserState(): Flow<void> {}

export function createControlCommands(
  db: Connection,
  directory: SensorDirectory,
  clock: Clock,
  settings: { readonly sensorsPerUserMax: number; readonly deletions: UserDeletions },
): ControlCommands {
  const setAside = new SetAside(db)
  const writes = { ...controlWrites(clock, addUserState), ...storeWrites(clock) }
  return {
    ...new FlowRunner(db).writingCalls(writes),
    ...sensorCommands(db, directory, clock, settings),
    recordTokenUses: (lastUsedAtMs) => {
      const record = db.prepare(RECORD_USE)
      db.transaction(() => {
        for (const [tokenId, usedAtMs] of lastUsedAtMs) record.run(usedAtMs, tokenId)
      }).immediate()
    },
    setAside: (measurements) => setAside.add(measurements, clock.nowMs()),
    retrySetAside: (ids) => setAside.retry(ids, clock.nowMs()),
    dropSetAside: (ids) => setAside.drop(ids),
    acceptClock: () => acceptClock(db),
  }
}
