// Loading a service with batches until all of them are in the measurement store, and how that is
// told beside a yardstick.

import { setTimeout } from 'node:timers/promises'
import { StampedRequest } from './bodies.ts'
import { runLoad } from './load.ts'
import { megabytes, milliseconds, perSecond } from './report.ts'
import type { Figure } from './report.ts'
import type { MeasuredService } from './service.ts'

export const BATCH = 500
export const CONNECTIONS = 16

export interface BatchLoad {
  /** Measurements a second. */
  readonly acknowledged: number
  /** Measurements a second until the last one was in the measurement store. */
  readonly drained: number
  readonly p99Ms: number
  readonly peakBytes: number
}

/** A batch for each connection, with times from there on. */
export function requestsOf({ token }: MeasuredService, startMs: number): StampedRequest[] {
  return Array.from(
    { length: CONNECTIONS },
    (_, connection) => new StampedRequest({ connection, size: BATCH, token, startMs }),
  )
}

/** Loads the service and stops it. @throws Error when an answer was not 201 */
export async function loadBatches(
  service: MeasuredService,
  { seconds, startMs }: { readonly seconds: number; readonly startMs: number },
): Promise<BatchLoad> {
  const { port } = service
  const requests = requestsOf(service, startMs)
  const startedAtMs = performance.now()
  const result = await runLoad({
    port,
    connections: CONNECTIONS,
    seconds,
    nextRequest: (connection) => requests[connection]?.stamp(),
  })
  expectAll(result.statuses, 201)
  const acknowledged = result.requestsPerSecond * BATCH
  while ((await service.backlog()) > 0) await setTimeout(10)
  const drained = (acknowledged * seconds) / ((performance.now() - startedAtMs) / 1_000)
  const peakBytes = service.peakMemoryBytes()
  await service.stop()
  await service.remove()
  return { acknowledged, drained, p99Ms: result.p99Ms, peakBytes }
}

/** A refusal is an answer too, and must not count as a measurement that was taken. */
export function expectAll(statuses: ReadonlyMap<number, number>, status: number): void {
  if (statuses.size === 1 && statuses.has(status)) return
  throw new Error(`not all answers were ${status}: ${JSON.stringify([...statuses])}`)
}

/** @param names of the two rates; @param yardstick measurements a second */
export function batchFigures(
  names: { readonly acknowledged: string; readonly drained: string },
  load: BatchLoad,
  yardstick: number,
): Figure[] {
  const beside = (name: string, rate: number): Figure => ({
    name,
    ours: perSecond(rate),
    yardstick: perSecond(yardstick),
    ratio: (rate / yardstick).toFixed(3),
  })
  const alone = (name: string, ours: string): Figure => ({ name, ours, yardstick: '', ratio: '' })
  return [
    beside(names.acknowledged, load.acknowledged),
    beside(`  ${names.drained}`, load.drained),
    alone('  p99', milliseconds(load.p99Ms)),
    alone('  peak memory', megabytes(load.peakBytes)),
  ]
}
