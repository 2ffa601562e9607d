import { checkInfluxBucket } from '../../src/influx/bucket-check.ts'
import { InfluxMeasurementReader } from '../../src/influx/measurement-reader.ts'
import { InfluxMeasurementWriter } from '../../src/influx/measurement-writer.ts'
import { describeMeasurementStore } from '../contract/measurement-store.ts'
import { FakeClock } from '../support/clock.ts'
import { connect, newBucket, useInflux } from '../support/influx.ts'
import { RecordingLog } from '../support/log.ts'

describe('InfluxDB', () => {
  const influx = useInflux()

  const open = async () => {
    const connection = connect(await newBucket(influx()))
    const writer = new InfluxMeasurementWriter({
      connection,
      checkBucket: () => checkInfluxBucket(connection),
      clock: new FakeClock(),
      log: new RecordingLog(),
    })
    const reader = new InfluxMeasurementReader(connection)
    return { writer, reader, close: async () => connection.close() }
  }

  describeMeasurementStore('InfluxDB', open, { propertyRuns: 8 })
})
