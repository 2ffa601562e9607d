// All that the commit thread can be asked to do besides submissions.

import { change } from '../../control/flow.ts'
import { controlWrites } from '../../control/writes.ts'
import type { EngineRows } from '../../control/writes.ts'
import type { Clock } from '../../ports/system.ts'
import type { Commands } from '../commit/commands.ts'
import type { SensorDirectory } from '../commit/sensor-directory.ts'
import type { Connection } from '../database.ts'
import { SetAside } from '../journal/set-aside.ts'
import { FlowRunner } from '../run-flow.ts'
import { acceptClock } from './receipts.ts'
import type { UserDeletions } from './deletions.ts'
import { sensorCommands } from './sensor-commands.ts'

/** The calls of a port, but answered synchronously. */
type Synchronous<Port> = {
  [Call in keyof Port]: Port[Call] extends (...args: infer Args) => Promise<infer Result>
    ? (...args: Args) => Result
    : never
}

export type ControlCommands = Synchronous<Commands>

const RECORD_USE = `
  UPDATE access_tokens SET last_used_at_ms = max(ifnull(last_used_at_ms, 0), ?) WHERE id = ?`
const ADOPT_STORE = `
  INSERT INTO measurement_store (id, name, since_seq)
  VALUES (1, $1, ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0))
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, since_seq = excluded.since_seq
  WHERE name <> excluded.name AND NOT EXISTS (SELECT 1 FROM accepted_per_day)
    AND NOT EXISTS (SELECT 1 FROM sensor_deletions)`
const INSERT_DELETION = `
  INSERT INTO sensor_deletions (sensor_id, user_id, start_ms, stop_ms, after_seq, due_at_ms)
  VALUES ($1, $2, $3, $4, 0, $5)`

const ROWS: EngineRows = {
  // Nothing else is kept of a user here.
  addUserState: function* () {},
  adoptStore: (name) => change(ADOPT_STORE, name),
  orderDeletion: ({ sensorId, userId, range: { startMs, stopMs } }, nowMs) =>
    change(INSERT_DELETION, sensorId, userId, startMs, stopMs, nowMs),
}

export function createControlCommands(
  db: Connection,
  directory: SensorDirectory,
  clock: Clock,
  settings: { readonly sensorsPerUserMax: number; readonly deletions: UserDeletions },
): ControlCommands {
  const setAside = new SetAside(db)
  return {
    ...new FlowRunner(db).writingCalls(controlWrites(clock, ROWS)),
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
