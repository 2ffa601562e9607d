// Batches of 500 with fresh random event ids, acknowledged on disk and forwarded to the measurement
// store, beside JSON.parse and the schema's validation of the same bodies alone.

import { setTimeout } from 'node:timers/promises'
import { isBatch } from '../src/http/validate.ts'
import { StampedRequest } from './bodies.ts'
import { runLoad } from './load.ts'
import { megabytes, milliseconds, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'

const BATCH = 500
const CONNECTIONS = 16
const YARDSTICK_BODIES = 2_000

export async function measureBatches(seconds: number): Promise<Figure[]> {
  const yardstick = parseAndValidate()
  const service = await startMeasured()
  say(`batches of ${BATCH} for ${seconds} s`)
  const startMs = Date.now() - 30 * 86_400_000
  const requests = Array.from(
    { length: CONNECTIONS },
    (_, connection) =>
      new StampedRequest({ connection, size: BATCH, token: service.token, startMs }),
  )
  const startedAtMs = performance.now()
  const result = await runLoad({
    port: service.port,
    connections: CONNECTIONS,
    seconds,
    nextRequest: (connection) => requests[connection]?.stamp() ?? Buffer.alloc(0),
  })
  const acknowledged = result.requestsPerSecond * BATCH
  while ((await service.backlog()) > 0) await setTimeout(10)
  const drainedSeconds = (performance.now() - startedAtMs) / 1_000
  const drained = (acknowledged * seconds) / drainedSeconds
  const peakBytes = service.peakMemoryBytes()
  await service.stop()
  const name = `batches of ${BATCH}, ${CONNECTIONS} connections, ${seconds} s`
  const ratio = (rate: number) => (rate / yardstick).toFixed(3)
  return [
    {
      name: `${name}, acknowledged; beside JSON.parse + ajv`,
      ours: perSecond(acknowledged),
      yardstick: perSecond(yardstick),
      ratio: ratio(acknowledged),
    },
    {
      name: '  and in the measurement store',
      ours: perSecond(drained),
      yardstick: perSecond(yardstick),
      ratio: ratio(drained),
    },
    { name: '  p99', ours: milliseconds(result.p99Ms), yardstick: '', ratio: '' },
    { name: '  peak memory', ours: megabytes(peakBytes), yardstick: '', ratio: '' },
  ]
}

/** Measurements a second that can be read from JSON and held against their schema, one core. */
function parseAndValidate(): number {
  const request = new StampedRequest({ connection: 0, size: BATCH, token: '', startMs: 0 }).stamp()
  const body = request.subarray(request.indexOf('\r\n\r\n') + 4).toString()
  const isValid = () => isBatch(JSON.parse(body))
  for (let warmUp = 0; warmUp < YARDSTICK_BODIES / 10; warmUp++) isValid()
  const startedAtMs = performance.now()
  for (let count = 0; count < YARDSTICK_BODIES; count++) {
    if (!isValid()) throw new Error('the yardstick does not take its own body')
  }
  return (YARDSTICK_BODIES * BATCH) / ((performance.now() - startedAtMs) / 1_000)
}
