// Goal and method as in test/model/service.test.ts, with many more sequences.

import { influxSettings, newBucket, useInflux } from '../support/influx.ts'
import { byLength } from '../support/length.ts'
import { runModel } from '../support/model-run.ts'

describe('the service and its model, for long', () => {
  it('agree with the embedded store', () => runModel(byLength(10, 200)))

  describe('with InfluxDB', () => {
    const influx = useInflux()

    it('agree', async () => {
      await runModel(byLength(4, 60), influxSettings(await newBucket(influx())))
    })
  })
})
