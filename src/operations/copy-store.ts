// Copies one measurement store into another, sensor by sensor and day by day.
//
// The number of measurements per sensor and UTC day, counted on both sides, shows what is missing:
// only days that differ are written, as a whole. Writing a measurement again changes nothing, so a
// copy that ended early can simply be repeated and continues where it was. After writing a sensor,
// its days are counted again, and remaining differences are reported.

import { StoreUnavailable } from '../domain/errors.ts'
import { columnsOver } from '../domain/measurement-columns.ts'
import type { MeasurementColumns } from '../domain/measurement-columns.ts'
import type { DayCounts } from '../domain/sensor-account.ts'
import { DAY_MS } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { backoffMs } from '../ingest/backoff.ts'
import type { MeasurementWriter, SensorInfo, StoreBatch } from '../ports/measurement-store.ts'
import type { WorkProgress } from '../ports/system.ts'

export interface OwnedSensor {
  readonly userId: number
  readonly sensorId: number
}

export interface StoreCopyCollaborators {
  /** The sensors that are not deleted, as they are now. */
  readonly sensors: readonly SensorInfo[]
  readonly source: {
    /** The number of measurements of all sensors. */
    total(): number
    countByDay(sensorId: number): DayCounts
    /** In order, in chunks that stay valid. */
    read(sensor: OwnedSensor, range: TimeRange): Iterable<MeasurementColumns>
  }
  readonly target: {
    /** @throws StoreUnavailable */
    countByDay(sensorId: number): Promise<DayCounts>
  }
  readonly writer: Pick<MeasurementWriter, 'write'>
  readonly progress: WorkProgress
  readonly pause: (durationMs: number) => Promise<unknown>
  readonly random: () => number
}

/** A day on which the two sides have different numbers of measurements. */
export interface DayMismatch {
  readonly sensorId: number
  readonly dayMs: number
  readonly inSource: number
  readonly inTarget: number
}

export interface CopyOutcome {
  /** How many the source has. */
  measurements: number
  /** How many were written now; the others were already there. */
  written: number
  mismatchedDays: number
  /** The first such day. */
  readonly mismatches: DayMismatch[]
  /** Why the target refused measurements, if it did. */
  refusal: string | undefined
}

const MISMATCHES_NAMED_MAX = 20

const INFOS_A_BATCH = 1_000

/** About two minutes of retries. */
const ATTEMPTS_MAX = 14

const NO_MEASUREMENTS = columnsOver(new ArrayBuffer(0), 0, 0)

/**
 * Copies everything that is missing, and the sensors' names.
 *
 * @throws StoreUnavailable if the target stays unreachable: what has been copied stays
 */
export async function copyStore(collaborators: StoreCopyCollaborators): Promise<CopyOutcome> {
  const { sensors, source, progress } = collaborators
  const copy = new StoreCopy(collaborators)
  progress.begin('copying', source.total(), 'measurement')
  for (const sensor of sensors) await copy.copySensor(sensor)
  for (let start = 0; start < sensors.length; start += INFOS_A_BATCH) {
    const sensorInfos = sensors.slice(start, start + INFOS_A_BATCH)
    await copy.write({ measurements: NO_MEASUREMENTS, sensorInfos })
  }
  return copy.outcome
}

class StoreCopy {
  readonly #with: StoreCopyCollaborators
  readonly outcome: CopyOutcome = {
    measurements: 0,
    written: 0,
    mismatchedDays: 0,
    mismatches: [],
    refusal: undefined,
  }

  constructor(collaborators: StoreCopyCollaborators) {
    this.#with = collaborators
  }

  async copySensor(sensor: OwnedSensor): Promise<void> {
    const { source, target, progress } = this.#with
    const { sensorId } = sensor
    const wanted = source.countByDay(sensorId)
    let found = await this.#patiently(() => target.countByDay(sensorId))
    const missing = [...wanted.keys()].filter((day) => found.get(day) !== wanted.get(day))
    const total = sum(wanted.values())
    this.outcome.measurements += total
    progress.advance(total - sum(missing.map((day) => wanted.get(day) ?? 0)))
    if (missing.length > 0) {
      for (const range of stretches(missing)) await this.#copyRange(sensor, range)
      found = await this.#patiently(() => target.countByDay(sensorId))
    }
    this.#compare(sensorId, wanted, found)
  }

  async write(batch: StoreBatch): Promise<void> {
    const untaken = await this.#patiently(() => this.#with.writer.write(batch))
    this.outcome.refusal ??= untaken[0]?.reason
  }

  async #copyRange(sensor: OwnedSensor, range: TimeRange): Promise<void> {
    for (const measurements of this.#with.source.read(sensor, range)) {
      await this.write({ measurements, sensorInfos: [] })
      this.outcome.written += measurements.count
      this.#with.progress.advance(measurements.count)
    }
  }

  #compare(sensorId: number, wanted: DayCounts, found: DayCounts): void {
    const days = new Set([...wanted.keys(), ...found.keys()])
    for (const dayMs of [...days].sort((a, b) => a - b)) {
      const inSource = wanted.get(dayMs) ?? 0
      const inTarget = found.get(dayMs) ?? 0
      if (inSource === inTarget) continue
      this.outcome.mismatchedDays++
      if (this.outcome.mismatches.length === MISMATCHES_NAMED_MAX) continue
      this.outcome.mismatches.push({ sensorId, dayMs, inSource, inTarget })
    }
  }

  async #patiently<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        const mayPass = error instanceof StoreUnavailable && !error.isPaused
        if (!mayPass || attempt === ATTEMPTS_MAX) throw error
        const pauseMs = Math.max(error.retryAfterMs ?? 0, backoffMs(attempt, this.#with.random()))
        await this.#with.pause(pauseMs)
      }
    }
  }
}

/** Joins consecutive days into ranges. */
function stretches(daysMs: readonly number[]): TimeRange[] {
  const ranges: { startMs: number; stopMs: number }[] = []
  for (const dayMs of daysMs.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last?.stopMs === dayMs) last.stopMs += DAY_MS
    else ranges.push({ startMs: dayMs, stopMs: dayMs + DAY_MS })
  }
  return ranges
}

function sum(counts: Iterable<number>): number {
  let total = 0
  for (const count of counts) total += count
  return total
}
