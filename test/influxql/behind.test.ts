// What Grafana is told when measurements are not there yet, or the store is out of reach.

import { expect } from 'chai'
import { HistoryReader } from '../../src/history/read-history.ts'
import { answerStatements } from '../../src/influxql/answer-statement.ts'
import type { InfluxqlSources } from '../../src/influxql/answer-statement.ts'
import { readStatements } from '../../src/influxql/read-statement.ts'
import { rowTextOf } from '../../src/influxql/row-text.ts'
import { StatementError } from '../../src/influxql/scanner.ts'
import type { MeasurementReader } from '../../src/ports/measurement-store.ts'
import type { Sensors } from '../../src/sensors/sensors.ts'
import { ask } from '../support/influxql.ts'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'
import { someSensor } from '../support/some-sensor.ts'

const NOWHERE = {
  INFLUX_URL: 'http://127.0.0.1:9',
  INFLUX_ORG: 'o',
  INFLUX_BUCKET: 'b',
  INFLUX_TOKEN: 't',
}

const NOW_MS = Date.UTC(2026, 10, 20)

const SENSOR = someSensor()

const MEASUREMENT = { sensorId: 1, measuredAtMs: NOW_MS - 1_000, rawCelsius: 20 }
const TOTAL = { sensorId: 1, startMs: NOW_MS - 1_000, count: 1, sum: 20, min: 20, max: 20 }

/** A store in which what was acknowledged may be later than the journal says. */
class LateStore {
  readonly asked: string[] = []
  readonly #has: { readonly [method: string]: boolean }

  /** @param has what each method finds; nothing before somebody has waited */
  constructor(has: { readonly [method: string]: boolean }) {
    this.#has = has
  }

  async answer(q: string) {
    const find = (method: string, item: unknown) => () => this.#find(method, item)
    const reader = {
      readRaw: find('readRaw', MEASUREMENT),
      readOne: find('readOne', MEASUREMENT),
      readTotals: find('readTotals', TOTAL),
      readWindows: find('readWindows', TOTAL),
    } as unknown as MeasurementReader
    const behind = {
      waitUntilReadable: async () => this.asked.push('wait') > 0,
      findUnreadable: () => this.#findUnreadable(),
      listUnreadable: async () => new Set([1]),
    }
    const sources = {
      sensors: { list: async () => [{ sensor: SENSOR, isOnline: false }] } as Partial<Sensors>,
      measurements: reader,
      history: new HistoryReader(reader, behind),
    } as InfluxqlSources
    const statements = readStatements(q, NOW_MS)
    const asked = { userId: 1, nowMs: NOW_MS, timedText: rowTextOf('ms') }
    const pieces = await answerStatements(statements, asked, sources)
    let text = ''
    for await (const piece of pieces) text += piece.toString()
    const { results } = JSON.parse(text) as {
      results: {
        series?: { values: unknown[][] }[]
        messages?: { level: string; text: string }[]
      }[]
    }
    return { values: results[0]?.series?.[0]?.values, messages: results[0]?.messages }
  }

  async *#find(method: string, item: unknown): AsyncIterable<readonly unknown[]> {
    this.asked.push(method)
    if (this.#has[method] === true && this.asked.includes('wait')) yield [item]
  }

  async *#findUnreadable(): AsyncIterable<number> {
    if (!this.asked.includes('wait') || Object.values(this.#has).every((has) => !has)) yield 1
  }
}

describe('InfluxQL on a store that is behind', () => {
  it('warns of what is acknowledged and cannot be read yet', async () => {
    const { messages } = await new LateStore({}).answer(
      'SELECT mean(temp) FROM temperature GROUP BY time(1h)',
    )
    expect(messages?.[0]?.level).to.equal('warning')
    expect(messages?.[0]?.text).to.contain('ask again')
  })

  it('waits before it counts', async () => {
    const store = new LateStore({ readTotals: true, readRaw: true })
    const { values, messages } = await store.answer(
      'SELECT temp FROM temperature WHERE time > now() - 1d',
    )
    expect(values).to.deep.equal([[MEASUREMENT.measuredAtMs, 20]])
    expect(messages).to.equal(undefined)
    expect(store.asked).to.deep.equal(['wait', 'readTotals', 'readRaw'])
  })

  it('reads all of the range although nothing was there when it counted', async () => {
    const store = new LateStore({ readTotals: false, readRaw: true })
    expect(
      (await store.answer('SELECT temp FROM temperature WHERE time > now() - 1d')).values,
    ).to.have.length(1)
  })

  it('has no last value of a sensor that was deleted after it was counted', async () => {
    const store = new LateStore({ readTotals: true, readOne: false })
    const q = 'SELECT count(temp), last(temp) FROM temperature WHERE time > now() - 1h'
    const { values = [] } = await store.answer(q)
    expect(values.map(([, ...counted]) => counted)).to.deep.equal([[1, null]])
  })

  for (const q of [
    'SELECT temp FROM temperature WHERE time > now() - 8d',
    'SELECT last(temp) FROM temperature WHERE time > now() - 8d GROUP BY time(1h)',
    'SELECT mean(temp) FROM temperature WHERE time > now() - 300d GROUP BY time(1m)',
  ]) {
    it(`refuses without the store: ${q}`, async () => {
      const store = new LateStore({})
      const refusal = await store.answer(q).catch((error: unknown) => error)
      expect(refusal).to.be.instanceOf(StatementError)
      expect(store.asked).to.deep.equal([])
    })
  }

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
