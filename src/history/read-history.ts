// The read path: answers a definite question about sensors from the measurement store.
//
// A response is complete only if it contains every measurement acknowledged before the question.
// The journal is checked first and the store read after it: what arrives in between can only add to
// the response.

import type { HistoryPoint, ResolvedQuestion } from '../domain/history.ts'
import { historyWaitMsMax } from '../domain/limits.ts'
import type { Sensor } from '../domain/sensor.ts'
import type { TimeRange } from '../domain/time.ts'
import type { ReadBarrier } from '../ports/journal-queue.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { historiesPoints } from './history-points.ts'

export interface History {
  readonly sensor: Sensor
  readonly question: ResolvedQuestion
  /** Whether it contains every measurement of the range acknowledged before the question. */
  readonly isComplete: boolean
  /** Ascending, in non-empty chunks, read as they are consumed; iterate only once. */
  readonly points: AsyncIterable<readonly HistoryPoint[]>
}

/** Reads histories from the measurement store, and checks the journal for what is not there yet. */
export class HistoryReader {
  readonly #reader: MeasurementReader
  readonly #barrier: ReadBarrier

  constructor(reader: MeasurementReader, barrier: ReadBarrier) {
    this.#reader = reader
    this.#barrier = barrier
  }

  /**
   * Reads a history. Waits up to `historyWaitMsMax` for measurements of the range that are
   * acknowledged but not yet in the store.
   *
   * The first chunk is read before it resolves, so that an unreachable store rejects here, where
   * the error can still be reported, and not in the middle of a response.
   *
   * @param sensor its control data at the time of the question
   * @throws ServiceError `history_unavailable` when the store is out of reach
   */
  async read(sensor: Sensor, question: ResolvedQuestion): Promise<History> {
    const [history] = await this.readSeveral([sensor], question)
    if (history === undefined) throw new Error('BUG: no history of a sensor')
    return history
  }

  /**
   * Reads histories of several sensors, the same question asked of each; measurements of one are
   * read when those before it have been taken.
   *
   * @param sensors their control data at the time of the question
   * @throws ServiceError `history_unavailable` when the store is out of reach
   */
  async readSeveral(
    sensors: readonly Sensor[],
    question: ResolvedQuestion,
  ): Promise<readonly History[]> {
    const range = { startMs: question.fromMs, stopMs: question.toMs }
    const unreadable = new Set<number>()
    for await (const id of this.#unreadableAfterWait(sensors, range)) unreadable.add(id)
    const [first, ...others] = await historiesPoints(this.#reader, sensors, question)
    const points = first === undefined ? [] : [await begin(first), ...others]
    return sensors.map((sensor, at) => {
      return { sensor, question, isComplete: !unreadable.has(sensor.id), points: points[at]! }
    })
  }

  /**
   * Whether everything acknowledged of the sensors in the range can be read from the store; waits
   * for it up to `historyWaitMsMax`.
   *
   * @param sensors their control data at the time of the question
   */
  async areReadable(sensors: readonly Sensor[], range: TimeRange): Promise<boolean> {
    return isEmpty(this.#unreadableAfterWait(sensors, range))
  }

  /** Which of the sensors have anything acknowledged that cannot be read now. */
  async listUnreadable(sensors: readonly Sensor[]): Promise<ReadonlySet<number>> {
    return this.#barrier.listUnreadable(sensors)
  }

  async *#unreadableAfterWait(sensors: readonly Sensor[], range: TimeRange): AsyncIterable<number> {
    // Looked at first, so that a backlog of other sensors or times delays nobody.
    if (await isEmpty(this.#barrier.findUnreadable(sensors, range))) return
    await this.#reader.refuseIfSilent?.()
    const versions = sensors.map(({ dataVersion }) => dataVersion)
    await this.#barrier.waitUntilReadable(versions, historyWaitMsMax)
    yield* this.#barrier.findUnreadable(sensors, range)
  }
}

async function isEmpty(items: AsyncIterable<unknown>): Promise<boolean> {
  const iterator = items[Symbol.asyncIterator]()
  const { done } = await iterator.next()
  await iterator.return?.()
  return done === true
}

/**
 * Everything that a complete response depends on: the definite question, the version of the
 * sensor's data and the sensor's settings. Equal texts mean equal responses, without reading the
 * store.
 */
export function historyVersion(sensor: Sensor, question: ResolvedQuestion): string {
  return JSON.stringify([
    [sensor.id, sensor.dataVersion],
    [sensor.serialNumber, sensor.alias, sensor.compensationCelsius],
    [question.fromMs, question.toMs, question.bucket, question.timeZone, question.isFilled],
  ])
}

async function begin<Chunk>(chunks: AsyncIterable<Chunk>): Promise<AsyncIterable<Chunk>> {
  const iterator = chunks[Symbol.asyncIterator]()
  return resume(await iterator.next(), iterator)
}

async function* resume<Chunk>(
  first: IteratorResult<Chunk>,
  iterator: AsyncIterator<Chunk>,
): AsyncIterable<Chunk> {
  try {
    for (let next = first; next.done !== true; next = await iterator.next()) yield next.value
  } finally {
    await iterator.return?.()
  }
}
