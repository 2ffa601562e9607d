// Batches of 500 with fresh random event ids, acknowledged on disk and forwarded to the measurement
// store, beside JSON.parse and the schema's validation of the same bodies alone.

import { validators } from '../src/http/body/validate.ts'
import { BATCH, batchFigures, CONNECTIONS, loadBatches } from './batch-load.ts'
import { StampedRequest } from './bodies.ts'
import { say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'

const YARDSTICK_BODIES = 2_000

export async function measureBatches(seconds: number): Promise<Figure[]> {
  const yardstick = parseAndValidate()
  say(`batches of ${BATCH} for ${seconds} s`)
  const startMs = Date.now() - 30 * 86_400_000
  const load = await loadBatches(await startMeasured(), { seconds, startMs })
  const name = `batches of ${BATCH}, ${CONNECTIONS} connections, ${seconds} s`
  const names = {
    acknowledged: `${name}, acknowledged; beside JSON.parse + ajv`,
    drained: 'and in the measurement store',
  }
  return batchFigures(names, load, yardstick)
}

/** Measurements a second that can be read from JSON and held against their schema, one core. */
function parseAndValidate(): number {
  const request = new StampedRequest({ connection: 0, size: BATCH, token: '', startMs: 0 }).stamp()
  const body = request.subarray(request.indexOf('\r\n\r\n') + 4).toString()
  const isValid = () => validators['measurement-batch'](JSON.parse(body))
  for (let warmUp = 0; warmUp < YARDSTICK_BODIES / 10; warmUp++) isValid()
  const startedAtMs = performance.now()
  for (let count = 0; count < YARDSTICK_BODIES; count++) {
    if (!isValid()) throw new Error('the yardstick does not take its own body')
  }
  return (YARDSTICK_BODIES * BATCH) / ((performance.now() - startedAtMs) / 1_000)
}
