// Goal: the parser takes every valid line for what InfluxDB takes it for. Method: random lines are
// written to a real influxd, and what that stored is held against our points.

import { useInflux } from '../support/influx.ts'
import { byLength } from '../support/length.ts'
import { expectAgreement } from '../support/line-agreement.ts'

const LINES = byLength(5_000, 100_000)
/** Each seed makes the same lines. */
const SEED = Math.floor(Math.random() * 2 ** 31)

describe(`${LINES} lines of line protocol`, () => {
  const influx = useInflux()

  it('are the points that InfluxDB takes them for', async () => {
    process.stderr.write(`      seed ${SEED}\n`)
    await expectAgreement(influx(), { lineCount: LINES, seed: SEED })
  })
})
