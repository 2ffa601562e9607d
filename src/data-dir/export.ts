// What an export reads: users and sensors, and the measurement store, whether a service runs or
// not. It contains everything acknowledged when it began: the journal is first forwarded up to
// there, by the running service, or here, owning DATA_DIR meanwhile; in a database by any process,
// this one among them. It changes nothing else.

import { openReader, refuseOtherStore } from '../core/measurement-store.ts'
import type { Config } from '../config.ts'
import type { System } from '../core/open-core.ts'
import type { Sensor } from '../domain/sensor.ts'
import { SECOND_MS } from '../domain/time.ts'
import { failed } from '../operations/failure.ts'
import type { OperationError } from '../operations/failure.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { systemClock } from '../system/clock.ts'
import { openBeside } from './open-beside.ts'
import type { Beside } from './open-beside.ts'
import { openOwn } from './open-own.ts'

/** A store without progress for this long will not recover soon. */
const STANDSTILL_MS_MAX = 30 * SECOND_MS

export interface ExportSource extends Pick<Beside, 'control'> {
  readonly reader: MeasurementReader
  /**
   * Waits until what was acknowledged of these sensors can be read.
   *
   * @throws OperationError if the measurement store takes nothing
   */
  untilReadable(sensors: readonly Sensor[]): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the source of an export, if all of it can be read.
 *
 * @throws OperationError when acknowledged measurements of a DATA_DIR cannot be forwarded
 */
export async function openExport(
  config: Config,
  service: { readonly isServiceRunning: boolean } & Pick<System, 'startThread'>,
): Promise<ExportSource> {
  return config.database === undefined ? openFiles(config, service) : openDatabase(config)
}

async function openFiles(
  config: Config,
  { isServiceRunning, ...of }: Parameters<typeof openExport>[1],
): Promise<ExportSource> {
  const beside = openBeside(config.dataDir)
  const { control, journal, store } = beside
  try {
    await refuseOtherStore(config, store)
    if (isServiceRunning) await waitUntilForwarded(journal)
    else await forward(config, journal, of)
  } catch (error) {
    beside.close()
    throw error
  }
  const reader = await openReader(config)
  return {
    control,
    reader,
    // All of it has been forwarded above.
    untilReadable: () => Promise.resolve(),
    close: async () => {
      await reader.close()
      beside.close()
    },
  }
}

async function openDatabase(config: Config): Promise<ExportSource> {
  const { control, reader, progress, isStoreWorking, close } = await openOwn(config, {
    isForwarding: true,
  })
  const untilReadable = async (sensors: readonly Sensor[]) => {
    for (const { dataVersion } of sensors) {
      while (!(await progress.waitUntilReadable([dataVersion], SECOND_MS))) {
        if (!isStoreWorking()) throw storeTakesNothing()
      }
    }
  }
  return { control, reader, untilReadable, close }
}

async function waitUntilForwarded(journal: Beside['journal']): Promise<void> {
  const head = await journal.head()
  let forwarded = await journal.forwarded()
  let movedAtMs = systemClock.monotonicMs()
  while (!(await journal.waitUntilReadable([head], SECOND_MS))) {
    const before = forwarded
    forwarded = await journal.forwarded()
    const nowMs = systemClock.monotonicMs()
    if (forwarded !== before) movedAtMs = nowMs
    if (nowMs - movedAtMs > STANDSTILL_MS_MAX) throw storeTakesNothing()
  }
}

async function forward(
  config: Config,
  journal: Beside['journal'],
  of: Pick<System, 'startThread'>,
): Promise<void> {
  const core = await openOwn(config, of)
  try {
    const head = await journal.head()
    while (!(await core.progress.waitUntilReadable([head], SECOND_MS))) {
      if (!core.isStoreWorking()) throw storeTakesNothing()
    }
  } finally {
    await core.close()
  }
}

function storeTakesNothing(): OperationError {
  return failed(
    'some acknowledged measurements are not in the measurement store yet, and writes to it fail',
    'See the log of the service; export again when the backlog is gone.',
  )
}
