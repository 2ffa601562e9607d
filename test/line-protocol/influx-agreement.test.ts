// Lines that InfluxDB stores are the same points here; test/faults/ has a hundred times as many.

import { useInflux } from '../support/influx.ts'
import { expectAgreement } from '../support/line-agreement.ts'

describe('lines of line protocol', () => {
  const influx = useInflux()

  it('are the points that InfluxDB takes them for', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    await expectAgreement(influx(), { lineCount: 1_000, seed })
  })
})
