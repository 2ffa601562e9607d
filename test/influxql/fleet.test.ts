// Goal: a fleet of more than a thousand sensors is one question, with the numbers that the history
// of each sensor has, on every store. Method: sensors with some measurements each, asked for all at
// once and held against histories of fifty, asked for in another order.

import { expect } from 'chai'
import { HOUR_MS, MINUTE_MS, STOP_MS, instant } from '../support/fleet.ts'
import { send, sendBatches } from '../support/http.ts'
import { ask, askRows } from '../support/influxql.ts'
import type { Row } from '../support/influxql.ts'
import type { TestService } from '../support/service.ts'
import { onEachStore } from '../support/stores.ts'

const SENSORS = 1_005
const READINGS = 4
const FROM_MS = STOP_MS - 3 * HOUR_MS
const RANGE = `time >= ${FROM_MS}ms AND time < ${STOP_MS}ms`
const ALL = 'mean("temp"), min("temp"), max("temp"), count("temp")'

interface Series {
  readonly sensor: { readonly id: number }
  readonly complete: boolean
  readonly points: readonly Row[]
}

describe('a fleet of a thousand', () => {
  onEachStore((start) => {
    let service: TestService
    let token: string

    before(async () => {
      service = await start()
      service.clock.set(instant(STOP_MS))
      token = await service.createToken('a@example.org')
      const measurements = Array.from({ length: SENSORS * READINGS }, (_, at) => {
        const [reading, sensor] = [Math.floor(at / SENSORS), at % SENSORS]
        const timestamp = instant(FROM_MS + reading * 40 * MINUTE_MS + sensor * 1_000)
        return { event_id: String(at), sn: `s-${sensor}`, temp: sensor / 8 + reading, timestamp }
      })
      await sendBatches(service.url, token, measurements)
      const path = '/api/v1/sensors/7'
      await send(service.url, { method: 'PATCH', path, token, body: { compensation: -0.3 } })
    })
    after(() => service?.stop())

    const seriesOf = async (q: string) => {
      const { error, series } = await ask(service.url, token, q)
      expect(error, q).to.equal(undefined)
      return series
    }
    const rowsOf = (q: string) => askRows(service.url, token, q)
    const histories = async (query: string): Promise<readonly Series[]> => {
      const ids = Array.from({ length: SENSORS }, (_, at) => SENSORS - at)
      const found: Series[] = []
      for (let at = 0; at < ids.length; at += 50) {
        const asked = ids.slice(at, at + 50)
        const range = `from=${instant(FROM_MS)}&to=${instant(STOP_MS)}`
        const path = `/api/v1/measurements?sensors=${asked.join(',')}&${range}&${query}`
        const { body } = await send(service.url, { path, token })
        const { series } = body.data as { series: Series[] }
        expect(series.map(({ sensor }) => sensor.id)).to.deep.equal(asked)
        expect(series.every(({ complete }) => complete)).to.equal(true)
        found.push(...series)
      }
      return found
    }
    const rowOf = ({ timestamp, temp: mean, ...rest }: Row): Row => {
      return { time: Date.parse(String(timestamp)), mean: mean ?? null, ...rest }
    }

    for (const [window, bucket] of [
      ['1m', 'bucket=minute'],
      ['1h', 'bucket=hour'],
      ['1d', 'bucket=day&tz=Asia/Kolkata'],
    ] as const) {
      it(`has the numbers of each history by ${window}`, async () => {
        const zone = bucket.includes('tz') ? "tz('Asia/Kolkata')" : ''
        const rows = await rowsOf(
          `SELECT ${ALL} FROM temperature WHERE ${RANGE}
           GROUP BY time(${window}), "sensor_id" fill(none) ${zone}`,
        )
        const bySensor = Map.groupBy(rows, (row) => Number(row['sensor_id']))
        expect(bySensor.size).to.equal(SENSORS)
        for (const { sensor, points } of await histories(bucket)) {
          const own = bySensor.get(sensor.id)?.map(({ sensor_id: _id, ...row }) => row)
          expect(own).to.deep.equal(points.map(rowOf))
        }
      })
    }

    it('has each measurement, the last one of each and how many there are', async () => {
      const raw = await rowsOf(`SELECT temp FROM temperature WHERE ${RANGE} GROUP BY "sensor_id"`)
      const bySensor = Map.groupBy(raw, (row) => Number(row['sensor_id']))
      for (const { sensor, points } of await histories('bucket=raw')) {
        const temps = bySensor.get(sensor.id)?.map(({ temp }) => temp)
        expect(temps).to.deep.equal(points.map(({ temp }) => temp))
      }
      const whole = await rowsOf(
        `SELECT last(temp), count(temp) FROM temperature WHERE ${RANGE} GROUP BY "sensor_id"`,
      )
      expect(whole).to.have.lengthOf(SENSORS)
      for (const { sensor_id: id, last, count } of whole) {
        const own = bySensor.get(Number(id)) ?? []
        expect([last, count]).to.deep.equal([own.at(-1)?.['temp'], READINGS])
      }
    })

    it('is one series where nothing tells sensors apart', async () => {
      const [all] = await rowsOf(`SELECT count(temp), max(temp) FROM temperature WHERE ${RANGE}`)
      expect(all).to.include({ count: SENSORS * READINGS, max: (SENSORS - 1) / 8 + READINGS - 1 })
    })

    it('is refused as far as it does not fit, with what would', async () => {
      const grouped = 'GROUP BY time(10s), "sensor_id"'
      const q = `SELECT mean(temp) FROM temperature WHERE ${RANGE} ${grouped}`
      const { status, error } = await ask(service.url, token, q)
      expect([status, error]).to.deep.equal([
        400,
        '1,005 series of 1,080 windows, at most 925: fewer sensors, or SLIMIT, or longer windows ' +
          'would fit',
      ])
      expect(await seriesOf(`${q} SLIMIT 925`)).to.have.lengthOf(925)
    })

    it('says of each whether anything acknowledged cannot be read yet', async () => {
      const [row] = await rowsOf('SELECT sum("unreadable"), count("unreadable") FROM "sensor"')
      expect(row).to.include({ sum: 0, count: SENSORS })
    })
  })
})
