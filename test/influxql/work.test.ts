// Goal: no statement keeps others waiting, whatever its conditions and however many sensors they
// are held against. Method: statements on sensors in memory, beside a loop that wants to run.

import { expect } from 'chai'
import { setImmediate } from 'node:timers/promises'
import { HistoryReader } from '../../src/history/read-history.ts'
import { answerStatements } from '../../src/influxql/answer-statement.ts'
import type { InfluxqlSources } from '../../src/influxql/answer-statement.ts'
import { readStatements } from '../../src/influxql/read-statement.ts'
import { rowTextOf } from '../../src/influxql/row-text.ts'
import { StatementError } from '../../src/influxql/scanner.ts'
import type { MeasurementReader } from '../../src/ports/measurement-store.ts'
import type { Sensors } from '../../src/sensors/sensors.ts'
import { someSensor } from '../support/some-sensor.ts'

const SENSORS = 10_000

describe('the work of a statement', () => {
  const measurements = {} as MeasurementReader
  const list = Array.from({ length: SENSORS }, (_, at) => ({
    sensor: someSensor({ id: at + 1, serialNumber: `S${at}`, alias: `S${at}` }),
    isOnline: false,
  }))
  const sources: InfluxqlSources = {
    sensors: { list: async () => list } as Partial<Sensors> as Sensors,
    measurements,
    history: new HistoryReader(measurements, {
      waitUntilReadable: async () => true,
      findUnreadable: async function* () {},
      listUnreadable: async () => new Set<number>(),
    }),
  }

  it('counts silence from the registration where it was heard from in the future', async () => {
    const nowMs = Date.UTC(2026, 10, 20)
    const silenceOf = async (lastSeenAtMs: number) => {
      const latest = { measuredAtMs: nowMs + 1, rawCelsius: 20 }
      const sensor = { ...list[0]?.sensor, createdAtMs: nowMs - 5_000, lastSeenAtMs, latest }
      const sensors = { list: async () => [{ sensor }] } as unknown as Sensors
      const statements = readStatements('SELECT silence FROM sensor', nowMs)
      const asked = { userId: 1, nowMs, timedText: rowTextOf('ms') }
      const pieces = await answerStatements(statements, asked, { ...sources, sensors })
      let text = ''
      for await (const piece of pieces) text += piece.toString()
      return text
    }
    expect(await silenceOf(nowMs + 1)).to.contain(`[[${nowMs},5]]`)
    expect(await silenceOf(nowMs - 3_000)).to.contain(`[[${nowMs},3]]`)
  })

  /** @returns how often others had their turn until the answer began */
  const turnsUntilAnswer = async (condition: string): Promise<number> => {
    const statement = `SELECT temp FROM sensor WHERE ${condition} GROUP BY sn LIMIT 1`
    let turns = 0
    let isOver = false
    const others = (async () => {
      for (; !isOver; turns++) await setImmediate()
    })()
    try {
      const nowMs = Date.UTC(2026, 10, 20)
      const asked = { userId: 1, nowMs, timedText: rowTextOf('ms') }
      await answerStatements(readStatements(statement, nowMs), asked, sources)
    } finally {
      isOver = true
      await others
    }
    return turns
  }
  const repeated = (times: number, condition: string, word: 'AND' | 'OR') =>
    Array.from({ length: times }, () => condition).join(` ${word} `)

  const TOO_MUCH: readonly (readonly [what: string, condition: string])[] = [
    ['conditions', repeated(5_000, "sn!='x'", 'AND')],
    ['alternatives', repeated(5_000, "sn='x'", 'OR')],
    ['unknown tags', repeated(5_000, "x='x'", 'OR')],
    ['conditions on time', repeated(5_000, 'time>0', 'AND')],
    ['conditions in parentheses', repeated(2_000, "((sn='x' OR sn!='x'))", 'AND')],
  ]
  for (const [what, condition] of TOO_MUCH) {
    it(`is bounded for thousands of ${what}`, async () => {
      const error: unknown = await turnsUntilAnswer(condition).catch((reason: unknown) => reason)
      expect(error).to.be.instanceOf(StatementError)
      expect((error as StatementError).message).to.equal(
        'the conditions are too slow for so many sensors: fewer or shorter ones, or one with ' +
          'plain texts, =~ /^(a|b|c)$/, would fit',
      )
    })
  }

  it('is bounded for many statements about all sensors', async () => {
    const nowMs = Date.UTC(2026, 10, 20)
    const asked = { userId: 1, nowMs, timedText: rowTextOf('ms') }
    const statements = readStatements(Array(6).fill('SELECT temp FROM sensor').join(';'), nowMs)
    await answerStatements(statements.slice(0, 5), asked, sources)
    const error: unknown = await answerStatements(statements, asked, sources).catch(
      (reason: unknown) => reason,
    )
    expect((error as StatementError).message).to.equal(
      'statement 6: 60,000 sensors for all statements, at most 50,000: fewer statements at a ' +
        'time would fit',
    )
  })

  it('lets others run more often the more it is', async () => {
    const few = await turnsUntilAnswer("sn!='x'")
    const many = await turnsUntilAnswer(repeated(150, "sn!='x'", 'AND'))
    expect(few).to.be.within(10, 200)
    expect(many).to.be.above(2 * few)
  })
})
