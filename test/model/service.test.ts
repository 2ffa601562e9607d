// Goal: whatever daemons do in whatever order, with retries and conflicts, sensors that go and come
// again and a service that is killed in between, it answers as a few maps would. Method: random
// commands on the real service and on these maps; test/faults/model.test.ts has more of them.

import { influxSettings, newBucket, useInflux } from '../support/influx.ts'
import { runModel } from '../support/model-run.ts'

describe('the service and its model', () => {
  it('agree with the embedded store', () => runModel({ runs: 4, msMax: 5_000 }))

  describe('with InfluxDB', () => {
    const influx = useInflux()

    it('agree', async () => {
      await runModel({ runs: 2, msMax: 4_000 }, influxSettings(await newBucket(influx())))
    })
  })
})
