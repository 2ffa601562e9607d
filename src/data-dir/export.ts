// What an export reads: control.db and the measurement store, beside a running service or not. All
// that was acknowledged when it began is in it: first the journal is forwarded up to there, by the
// service that runs, or here, owning DATA_DIR for that long. Changes nothing else.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { openCore, openReader, refuseOtherStore } from '../open-data-dir.ts'
import type { Config } from '../config.ts'
import type { Sensor, SensorId } from '../domain/sensor.ts'
import { SECOND_MS } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import type { ExportedSensor } from '../operations/export-measurements.ts'
import { failed } from '../operations/failure.ts'
import type { OperationError } from '../operations/operations.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { AcceptedDays } from '../sqlite/control/accepted-days.ts'
import { SqliteControlReader } from '../sqlite/control/control-reader.ts'
import { versionOf } from '../sqlite/data-version.ts'
import { CONTROL_FILE, openForReading } from '../sqlite/database.ts'
import type { Connection } from '../sqlite/database.ts'
import { JournalReader } from '../sqlite/journal/journal-reader.ts'
import { SetAside } from '../sqlite/journal/set-aside.ts'
import { systemClock } from '../system/clock.ts'
import { createLog, standardError } from '../system/log.ts'

const LOOK_EVERY_MS = 50
/** A store that takes nothing for so long will not take it soon. */
const STANDSTILL_MS_MAX = 30 * SECOND_MS

export interface ExportSource {
  readonly control: Pick<ControlReader, 'findUser' | 'listSensors'>
  readonly reader: MeasurementReader
  /** What was accepted of a sensor in the days that the range touches. */
  describe(sensor: Sensor, range: TimeRange): ExportedSensor
  /** Whether the store has refused measurements of the sensor in the range. */
  hasSetAside(sensorId: SensorId, range: TimeRange): boolean
  close(): Promise<void>
}

/**
 * Opens what is to be exported, when all of it can be read.
 *
 * @throws OperationError when the store does not take what was acknowledged
 */
export async function openExport(
  config: Config,
  { isServiceRunning }: { readonly isServiceRunning: boolean },
): Promise<ExportSource> {
  const file = join(config.dataDir, CONTROL_FILE)
  if (!existsSync(file)) throw failed(`${config.dataDir} has no data`)
  refuseOtherStore(config)
  const db = openForReading(file)
  try {
    if (isServiceRunning) await waitUntilForwarded(db)
    else await forward(config, db)
    return sourceOf(config, db)
  } catch (error) {
    db.close()
    throw error
  }
}

function sourceOf(config: Config, db: Connection): ExportSource {
  const reader = openReader(config)
  const accepted = new AcceptedDays(db)
  const setAside = new SetAside(db)
  return {
    control: new SqliteControlReader(db),
    reader,
    describe: (sensor, range) => ({
      sensor,
      days: accepted.ofSensor(sensor.id, range),
    }),
    hasSetAside: (sensorId, range) => setAside.has(sensorId, range),
    close: async () => {
      await reader.close()
      db.close()
    },
  }
}

/** The watermark is written down at least once a second. */
async function waitUntilForwarded(db: Connection): Promise<void> {
  const journal = new JournalReader(db)
  const lastSeq = new AcceptedDays(db).lastSeq()
  let forwardedSeq = journal.forwardedSeq()
  let movedAtMs = systemClock.monotonicMs()
  while (forwardedSeq < lastSeq) {
    await setTimeout(LOOK_EVERY_MS)
    const before = forwardedSeq
    forwardedSeq = journal.forwardedSeq()
    const nowMs = systemClock.monotonicMs()
    if (forwardedSeq > before) movedAtMs = nowMs
    if (nowMs - movedAtMs > STANDSTILL_MS_MAX) throw storeTakesNothing()
  }
}

async function forward(config: Config, db: Connection): Promise<void> {
  const log = createLog(systemClock, { level: 'error', component: 'command' }, standardError)
  // Its threads would speak on standard output, which belongs to the command.
  const core = await openCore({ ...config, logLevel: 'silent' }, { clock: systemClock, log })
  try {
    const lastSeq = new AcceptedDays(db).lastSeq()
    while (!(await core.progress.waitUntilReadable(versionOf(lastSeq), SECOND_MS))) {
      if (!core.forwarding.isStoreWorking) throw storeTakesNothing()
    }
  } finally {
    await core.close()
  }
}

function storeTakesNothing(): OperationError {
  return failed(
    'the measurement store does not take what was acknowledged, so not all of it can be read',
    'See the log of the service; export again when it is forwarded.',
  )
}
