// InfluxDB's client library for Python, as it is, against the service.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { leaveOut } from '../../support/left-out.ts'
import { sendUnchecked } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const POINTS = 1_200
const START_S = 1_795_160_000

/** Writes points of a sensor twice, one by one at once and in batches of the background. */
const PROGRAM = `
import sys
from influxdb_client import InfluxDBClient, Point, WriteOptions
from influxdb_client.client.write_api import SYNCHRONOUS

url, token = sys.argv[1:]
def point(sn, n):
    return Point("room").tag("sn", sn).field("temp", n / 10).time((${START_S} + n) * 10**9)

with InfluxDBClient(url=url, token=token, org="x", enable_gzip=True) as client:
    assert client.ping() and client.version() == "2.7.0"
    for time in range(2):
        with client.write_api(write_options=SYNCHRONOUS) as api:
            api.write("x", record=[point("28FF641E93160434", n) for n in range(${POINTS})])
        with client.write_api(write_options=WriteOptions(batch_size=500)) as api:
            for n in range(${POINTS}):
                api.write("x", record=point("28FF641E93160435", n))
`

describe('the client of InfluxDB for Python', () => {
  let service: TestService | undefined

  before(async function () {
    const has = spawnSync('python3', ['-c', 'import influxdb_client'], { stdio: 'ignore' })
    if (has.status !== 0) leaveOut(this, 'influxdb-client for python3')
    service = await startService()
  })

  after(() => service?.stop())

  it('has each point stored once, written twice', async () => {
    const { url, createToken } = service!
    const token = await createToken('a@example.org')
    const program = spawn('python3', ['-c', PROGRAM, url, token], { stdio: 'pipe' })
    const [errors] = await Promise.all([text(program.stderr), once(program, 'exit')])
    expect(errors).to.equal('')
    const list = await sendUnchecked(url, { path: '/api/v1/sensors', token })
    const sensors = list.body.data as { id: number; sn: string }[]
    expect(sensors.map(({ sn }) => sn)).to.have.members(['28FF641E93160434', '28FF641E93160435'])
    for (const { id } of sensors) {
      const [from, to] = [0, POINTS].map((n) => new Date((START_S + n) * 1_000).toISOString())
      const range = `bucket=raw&from=${from}&to=${to}`
      const path = `/api/v1/sensors/${id}/measurements?${range}`
      const { body } = await sendUnchecked(url, { path, token })
      const temps = (body.data.points as { temp: number }[]).map(({ temp }) => temp)
      expect(temps).to.deep.equal(Array.from({ length: POINTS }, (_, n) => n / 10))
    }
  })
})
