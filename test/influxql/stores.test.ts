// Goal: InfluxQL gives the numbers of the history, on every store. Method: a fleet with a gap,
// compensations, late data and a sensor that is silent, on each store; every window of the one has
// to be a bucket of the other.

import { expect } from 'chai'
import {
  FLEET,
  HOUR_MS,
  MINUTE_MS,
  START_MS,
  STOP_MS,
  fillFleet,
  instant,
} from '../support/fleet.ts'
import { send } from '../support/http.ts'
import { askRows } from '../support/influxql.ts'
import type { Row } from '../support/influxql.ts'
import type { TestService } from '../support/service.ts'
import { onEachStore } from '../support/stores.ts'

const FROM_MS = START_MS + 7 * MINUTE_MS + 321
const TO_MS = STOP_MS - 3 * MINUTE_MS - 123
const RANGE = `time >= ${FROM_MS}ms and time <= ${TO_MS}ms`
const ALL = 'mean("temp"), min("temp"), max("temp"), count("temp")'

describe('the numbers of InfluxQL', () => {
  onEachStore((start) => {
    let service: TestService
    let token: string
    let otherToken: string

    before(async () => {
      service = await start()
      await fillFleet(service)
      token = await service.createToken('a@example.org', { scope: ['sensors:read'] })
      otherToken = await service.createToken('b@example.org', { scope: ['sensors:read'] })
    })
    after(() => service?.stop())

    const rowsOf = (q: string, as = token) => askRows(service.url, as, q)
    const history = async (query: string): Promise<Row[]> => {
      const range = `from=${instant(FROM_MS)}&to=${instant(TO_MS)}`
      const path = `/api/v1/sensors/1/measurements?${range}&${query}`
      const answer = await send(service.url, { path, token })
      return (answer.body.data.points as Row[]).map(({ timestamp, temp: mean, ...rest }) => ({
        time: Date.parse(String(timestamp)),
        mean,
        ...rest,
      }))
    }

    const WINDOWS = [
      ['1m', 'bucket=minute'],
      ['5m', 'bucket=5min'],
      ['15m', 'bucket=15min'],
      ['1h', 'bucket=hour'],
      ['1d', 'bucket=day'],
      ['24h', 'bucket=day'],
    ]
    for (const [window, bucket] of WINDOWS) {
      it(`are the history's by ${window}, gaps and ends included`, async () => {
        const rows = await rowsOf(
          `SELECT ${ALL} FROM "temperature" WHERE "sensor_id"::tag = '1' AND ${RANGE}
           GROUP BY time(${window}) fill(null) ORDER BY time ASC`,
        )
        expect(rows).to.deep.equal(await history(`${bucket}&fill=null`))
      })
    }

    it('are the history’s by local days', async () => {
      const rows = await rowsOf(
        `SELECT ${ALL} FROM temperature WHERE name = 'Cellar' AND ${RANGE}
         GROUP BY time(1d) fill(none) tz('Asia/Kolkata')`,
      )
      expect(rows).to.deep.equal(await history('bucket=day&tz=Asia/Kolkata'))
    })

    it('are those of each sensor when grouped, and of all measurements when not', async () => {
      const [whole] = await rowsOf(`SELECT count(temp), mean(temp), sum(raw), last(temp)
        FROM temperature WHERE time >= ${START_MS}ms AND time < ${STOP_MS}ms`)
      expect(whole).to.include({ time: START_MS, count: 132, last: 11.5 })
      const each = await rowsOf(`SELECT count(temp), mean(temp), sum(temp), sum(raw), last(temp)
        FROM temperature WHERE time >= ${START_MS}ms AND time < ${STOP_MS}ms GROUP BY "name"`)
      expect(each.map(({ name, count }) => [name, count])).to.deep.equal([
        ['Cellar', 126],
        ['attic-2', 6],
      ])
      const sum = each.reduce((total, row) => total + Number(row['sum']), 0)
      const raw = each.reduce((total, row) => total + Number(row['sum_1']), 0)
      expect(whole?.['mean']).to.equal(Math.round((sum / 132) * 1e6) / 1e6)
      expect(whole?.['sum']).to.equal(raw)
    })

    it('come from the measurements where windows are shorter than a minute', async () => {
      const rows = await rowsOf(`SELECT count(temp), last(temp) FROM temperature
        WHERE sensor_id = '1' AND time >= ${START_MS}ms AND time < ${START_MS + HOUR_MS}ms
        GROUP BY time(30s) fill(none)`)
      expect(rows).to.have.lengthOf(6)
      expect(rows[1]).to.deep.equal({ time: START_MS + 10 * MINUTE_MS, count: 1, last: 12.5 })
    })

    it('are single measurements, in either order', async () => {
      const q = `SELECT "temp", "raw" FROM "temperature" WHERE ${RANGE}`
      const ascending = await rowsOf(`${q} GROUP BY "sensor_id"`)
      expect(ascending).to.have.lengthOf(125 + 5)
      expect(ascending[0]).to.deep.equal({
        sensor_id: '1',
        time: START_MS + 10 * MINUTE_MS,
        temp: 12.5,
        raw: 13,
      })
      const merged = await rowsOf(`${q} ORDER BY time DESC LIMIT 129`)
      const times = merged.map(({ time }) => Number(time))
      expect(times).to.deep.equal(times.toSorted((one, other) => other - one))
      expect(times).to.have.lengthOf(129)
    })

    it('are of each sensor as it is, also of one that never sent', async () => {
      const q = 'SELECT "temp", "silence", "online" FROM "sensor" GROUP BY "name"::tag, "sensor_id"'
      const { barn, silent } = FLEET
      expect(await rowsOf(q, otherToken)).to.deep.equal([
        {
          name: barn.alias,
          sensor_id: barn.sensor_id,
          time: STOP_MS,
          temp: 30.25,
          silence: 3_600,
          online: 0,
        },
        {
          name: silent.alias,
          sensor_id: silent.sensor_id,
          time: STOP_MS,
          temp: null,
          silence: 0,
          online: 0,
        },
      ])
      const totals = 'SELECT count("online"), sum("online"), max("temp") FROM "sensor"'
      expect((await rowsOf(totals, otherToken))[0]).to.include({ count: 2, sum: 0, max: 30.25 })
    })
  })
})
