// Lines that senders write to Thermolog arrive in the InfluxDB behind it, each point once, as they
// were submitted.

import { expect } from 'chai'
import { send } from '../../support/http.ts'
import { influxSettings, newBucket, useInflux } from '../../support/influx.ts'
import { startService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const POINTS = 1_200
const SENSORS = 3
const START_S = Date.UTC(2026, 10, 20) / 1_000
const DAY = 'from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z&bucket=raw'

describe('line protocol with InfluxDB behind', () => {
  const influx = useInflux()

  it('is forwarded once, however often it comes', async () => {
    const target = await newBucket(influx())
    const service = await startService(influxSettings(target))
    const token = await service.createToken('a@example.org')
    const write = (lines: readonly string[]) => {
      const headers = { authorization: `Token ${token}` }
      const path = '/api/v2/write?precision=s'
      return send(service.url, { method: 'POST', path, headers, body: lines.join('\n') })
    }
    // Two values at one time are both kept; InfluxDB alone would overwrite the first.
    const lines = Array.from({ length: POINTS }, (_, at) => {
      const time = START_S + Math.floor(at / SENSORS / 2) * 60
      return `room,sn=28FF641E9316043${at % SENSORS} temp=${at / 10} ${time}`
    })
    for (const created of [POINTS, 0]) {
      const { status, headers } = await write(lines)
      expect([status, headers['thermolog-created']]).to.deep.equal([204, `${created}`])
    }
    const list = await send(service.url, { path: '/api/v1/sensors', token })
    for (const [at, { id }] of (list.body.data as { id: number }[]).entries()) {
      const path = `/api/v1/sensors/${id}/measurements?${DAY}`
      let history = await send(service.url, { path, token })
      await until('the history is complete', async () => {
        history = await send(service.url, { path, token })
        return history.body.data?.complete === true
      })
      const temps = (history.body.data.points as { temp: number }[]).map(({ temp }) => temp)
      const sent = Array.from({ length: POINTS / SENSORS }, (_, n) => (n * SENSORS + at) / 10)
      expect(temps).to.have.members(sent)
    }
    expect(await countIn(target)).to.equal(POINTS)
    await service.stop()
  })
})

/** How many measurements are in the bucket. */
async function countIn(target: Awaited<ReturnType<typeof newBucket>>): Promise<number> {
  const { url, organization, influxBucket, influxToken } = target
  const answer = await fetch(`${url}/api/v2/query?org=${organization}`, {
    method: 'POST',
    headers: { authorization: `Token ${influxToken}`, 'content-type': 'application/vnd.flux' },
    body: `from(bucket: "${influxBucket}")
      |> range(start: 2026-01-01T00:00:00Z, stop: 2027-01-01T00:00:00Z)
      |> filter(fn: (r) => r._measurement == "temperature")
      |> group(columns: ["_field"]) |> count()`,
  })
  const text = await answer.text()
  const [head = '', row = ''] = text.split('\r\n')
  return Number(row.split(',')[head.split(',').indexOf('_value')])
}
