// The same load with an empty event ledger and with a large one, and what the large one costs: on
// disk, in memory, at a repeat of its oldest event and at the start. A machine that others use as
// well is faster in one minute than in the next: the two take turns.

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { BATCH, CONNECTIONS, expectAll, requestsOf } from './batch-load.ts'
import { StampedRequest } from './bodies.ts'
import { runLoad } from './load.ts'
import { megabytes, milliseconds, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'
import type { MeasuredService } from './service.ts'

const FILL_SECONDS = 30
const REPEATS_SECONDS = 5
const TURNS = 5
/** Until all is sealed: what works at that takes memory, whatever the ledger has. */
const SEAL_MS = 5_000

/** @param events how many the ledger gets; a hundred million take some ten minutes and 6 GB */
export async function measureLedger(seconds: number, events: number): Promise<Figure[]> {
  const startMs = Date.now() - 365 * 86_400_000
  let service = await startMeasured()
  const { token, dataDir } = service
  const oldest = new StampedRequest({ connection: 0, size: 0, token, startMs })
  await repeat(service, oldest.stamp(), { seconds: 0.1, statuses: [201, 200] })
  const requests = requestsOf(service, startMs)
  let filled = 0
  while (filled < events) {
    filled += (await load(service, requests, FILL_SECONDS)) * FILL_SECONDS
    say(`  ${Math.round(filled / 1e6)} of ${Math.round(events / 1e6)} million events`)
  }
  await setTimeout(SEAL_MS)
  await service.stop()
  const { size } = await stat(join(dataDir, 'ledger.db'))
  const startedAtMs = performance.now()
  service = await startMeasured({}, { dataDir, token })
  const startMsTaken = performance.now() - startedAtMs
  const residentBytes = service.residentBytes()
  const empty = await startMeasured()
  say(`batches of ${BATCH} with ${Math.round(filled / 1e6)} million events and with none by turns`)
  const requestsOfEmpty = requestsOf(empty, startMs)
  // What a start has left on the disk is read once.
  await load(service, requests, FILL_SECONDS)
  await load(empty, requestsOfEmpty, seconds / TURNS)
  let full = 0
  let none = 0
  for (let turn = 0; turn < TURNS; turn++) {
    full += (await load(service, requests, seconds / TURNS)) / TURNS
    none += (await load(empty, requestsOfEmpty, seconds / TURNS)) / TURNS
  }
  const lookUp = await repeat(service, oldest.bytes, { seconds: REPEATS_SECONDS, statuses: [200] })
  for (const one of [service, empty]) {
    await one.stop()
    await one.remove()
  }
  const alone = (name: string, ours: string): Figure => ({ name, ours, yardstick: '', ratio: '' })
  return [
    {
      name: `batches of ${BATCH} with ${Math.round(filled / 1e6)} million events; with none`,
      ours: perSecond(full),
      yardstick: perSecond(none),
      ratio: (full / none).toFixed(2),
    },
    alone('  the oldest event again, p50 of the whole request', milliseconds(lookUp.p50Ms)),
    alone('  disk of the ledger', `${(size / filled).toFixed(1)} bytes an event`),
    alone('  start', milliseconds(startMsTaken)),
    alone('  memory after the start', megabytes(residentBytes)),
  ]
}

/** Waits until all is in the store. @returns measurements a second */
async function load(
  service: MeasuredService,
  requests: readonly StampedRequest[],
  seconds: number,
): Promise<number> {
  const result = await runLoad({
    port: service.port,
    connections: CONNECTIONS,
    seconds,
    nextRequest: (connection) => requests[connection]?.stamp(),
  })
  expectAll(result.statuses, 201)
  while ((await service.backlog()) > 0) await setTimeout(10)
  return result.requestsPerSecond * BATCH
}

/** One request again and again, one at a time. */
async function repeat(
  { port }: MeasuredService,
  request: Buffer,
  expected: { readonly seconds: number; readonly statuses: readonly number[] },
) {
  const { seconds, statuses } = expected
  const result = await runLoad({ port, connections: 1, seconds, nextRequest: () => request })
  if ([...result.statuses.keys()].some((status) => !statuses.includes(status))) {
    throw new Error(`not all answers were ${statuses.join(' or ')}`)
  }
  return result
}
