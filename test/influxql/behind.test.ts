// What Grafana is told when measurements are not there yet, or the store is out of reach.

import { expect } from 'chai'
import { HistoryReader } from '../../src/history/read-history.ts'
import { answerStatement } from '../../src/influxql/answer-statement.ts'
import type { MeasurementReader } from '../../src/ports/measurement-store.ts'
import type { Sensors } from '../../src/sensors/sensors.ts'
import { ask } from '../support/influxql.ts'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'

const NOWHERE = {
  INFLUX_URL: 'http://127.0.0.1:9',
  INFLUX_ORG: 'o',
  INFLUX_BUCKET: 'b',
  INFLUX_TOKEN: 't',
}

describe('InfluxQL on a store that is behind', () => {
  it('warns of what is acknowledged and cannot be read yet', async () => {
    const sensor = {
      id: 1,
      userId: 1,
      serialNumber: 'A1',
      alias: 'A1',
      compensationCelsius: 0,
      createdAtMs: 0,
      lastSeenAtMs: null,
      latest: null,
      dataVersion: '7',
    }
    const empty = {
      readRaw: async function* () {},
      readWindows: async function* () {},
    } as unknown as MeasurementReader
    const behind = {
      waitUntilReadable: async () => false,
      findUnreadable: async function* () {
        yield 1
      },
      listUnreadable: async () => new Set([1]),
    }
    const pieces = await answerStatement(
      'SELECT mean(temp) FROM temperature GROUP BY time(1h)',
      { userId: 1, nowMs: Date.UTC(2026, 10, 20) },
      {
        sensors: { list: async () => [{ sensor, isOnline: false }] } as Partial<Sensors> as Sensors,
        measurements: empty,
        history: new HistoryReader(empty, behind),
      },
    )
    let text = ''
    for await (const piece of pieces) text += piece.toString()
    const { results } = JSON.parse(text) as {
      results: { messages: { level: string; text: string }[] }[]
    }
    expect(results[0]?.messages[0]?.level).to.equal('warning')
    expect(results[0]?.messages[0]?.text).to.contain('ask again')
  })

  it('shows sensors while the store is out of reach, and says 503 for the rest', async () => {
    const service = await startService(NOWHERE)
    try {
      const token = await service.createToken('a@example.org')
      const body = { sn: 'A1', temp: 20 }
      await send(service.url, { method: 'POST', path: '/api/v1/measurements', token, body })
      const q = 'SELECT max("temp") FROM "sensor"'
      expect((await ask(service.url, token, q)).rows[0]).to.include({ max: 20 })
      const unreadable = 'SELECT "unreadable" FROM "sensor"'
      expect((await ask(service.url, token, unreadable)).rows[0]).to.include({ unreadable: 1 })
      const { status, error, headers } = await ask(
        service.url,
        token,
        'SELECT mean("temp") FROM "temperature" WHERE time > now() - 1h GROUP BY time(1m)',
      )
      expect([status, error]).to.deep.equal([
        503,
        'The measurement store cannot be read at the moment.',
      ])
      expect(Number(headers['retry-after'])).to.be.greaterThan(0)
    } finally {
      await service.stop()
    }
  })
})
