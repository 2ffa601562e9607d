// The same load with an empty event ledger and with a large one, and what the large one costs: on
// disk, in memory, at a repeat of its oldest event and at the start. A machine may be slower after
// minutes of load: the empty one is measured before and after.

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { BATCH, CONNECTIONS, expectAll, loadBatches } from './batch-load.ts'
import { StampedRequest } from './bodies.ts'
import { runLoad } from './load.ts'
import { megabytes, milliseconds, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'
import type { MeasuredService } from './service.ts'

const FILL_SECONDS = 30
const REPEATS_SECONDS = 5

/** @param events how many the ledger gets; a hundred million take some ten minutes and 6 GB */
export async function measureLedger(seconds: number, events: number): Promise<Figure[]> {
  const startMs = Date.now() - 365 * 86_400_000
  let service = await startMeasured()
  const { token, dataDir } = service
  const oldest = new StampedRequest({ connection: 0, size: 0, token, startMs })
  await repeat(service, oldest.stamp(), { seconds: 0.1, statuses: [201, 200] })
  const requests = Array.from(
    { length: CONNECTIONS },
    (_, connection) => new StampedRequest({ connection, size: BATCH, token, startMs }),
  )
  const load = async (loadSeconds: number) => {
    const result = await runLoad({
      port: service.port,
      connections: CONNECTIONS,
      seconds: loadSeconds,
      nextRequest: (connection) => requests[connection]?.stamp(),
    })
    expectAll(result.statuses, 201)
    while ((await service.backlog()) > 0) await setTimeout(10)
    return result.requestsPerSecond * BATCH
  }
  say(`batches of ${BATCH} into an empty ledger for ${seconds} s`)
  const rateBefore = await load(seconds)
  let filled = rateBefore * seconds
  while (filled < events) {
    filled += (await load(FILL_SECONDS)) * FILL_SECONDS
    say(`  ${Math.round(filled / 1e6)} of ${Math.round(events / 1e6)} million events`)
  }
  await service.stop()
  const { size } = await stat(join(dataDir, 'ledger.db'))
  const startedAtMs = performance.now()
  service = await startMeasured({}, { dataDir, token })
  const startMsTaken = performance.now() - startedAtMs
  const residentBytes = service.residentBytes()
  say(`batches of ${BATCH} with ${Math.round(filled / 1e6)} million events for ${seconds} s`)
  const rateFull = await load(seconds)
  const lookUp = await repeat(service, oldest.bytes, { seconds: REPEATS_SECONDS, statuses: [200] })
  await service.stop()
  await service.remove()
  say(`batches of ${BATCH} into an empty ledger once more for ${seconds} s`)
  const after = await loadBatches(await startMeasured(), { seconds, startMs })
  const rateEmpty = (rateBefore + after.acknowledged) / 2
  const alone = (name: string, ours: string): Figure => ({ name, ours, yardstick: '', ratio: '' })
  return [
    {
      name: `batches of ${BATCH} with ${Math.round(filled / 1e6)} million events; with none`,
      ours: perSecond(rateFull),
      yardstick: perSecond(rateEmpty),
      ratio: (rateFull / rateEmpty).toFixed(2),
    },
    alone('  the oldest event again, p50 of the whole request', milliseconds(lookUp.p50Ms)),
    alone('  disk of the ledger', `${(size / filled).toFixed(1)} bytes an event`),
    alone('  start', milliseconds(startMsTaken)),
    alone('  memory after the start', megabytes(residentBytes)),
  ]
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
