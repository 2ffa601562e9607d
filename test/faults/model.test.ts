// Goal and method as in test/model/service.test.ts, with many more sequences.

import { influxSettings, newBucket, useInflux } from '../support/influx.ts'
import { byLength } from '../support/length.ts'
import { runModel } from '../support/model-run.ts'

const LENGTH = byLength({ runs: 3, msMax: 6_000 }, { runs: 100, msMax: 300_000 })

describe('the service and its model, for long', () => {
  it('agree with the embedded store', () => runModel(LENGTH))

  describe('with InfluxDB', () => {
    const influx = useInflux()

    it('agree', async () => {
      await runModel(LENGTH, influxSettings(await newBucket(influx())))
    })
  })
})
