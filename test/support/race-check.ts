// What must be true after a race: the answers that were written down, the ledger, the journal, the
// sensors and the store agree.

import { readFileSync } from 'node:fs'
import pg from 'pg'
import { serialNumberKey } from '../../src/domain/sensor.ts'
import { DAY_MS } from '../../src/domain/time.ts'
import { ColumnsGatherer, decodeEntries } from '../../src/domain/measurement-columns.ts'
import { eventKeyOf, keyOfBits } from '../../src/postgres/stream/group.ts'
import { raceEvent } from './race-events.ts'
import type { RaceAnswer } from './race-events.ts'

export interface RaceReport {
  readonly answers: number
  readonly statuses: Record<string, number>
  readonly events: number
  readonly streams: number
  readonly faults: string[]
}

const FAULTS_MAX = 20

interface Event {
  readonly sensorId: number
  readonly atMs: number
  readonly tempCelsius: number
  readonly name: string
}

interface Entry {
  readonly sensorId: number
  readonly atMs: number
  readonly tieBreakNs: number
  readonly tempCelsius: number
}

export async function checkRace(url: string, files: readonly string[]): Promise<RaceReport> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const faults: string[] = []
  const fault = (text: string) => {
    if (faults.length < FAULTS_MAX) faults.push(text)
  }
  const ask = async <Row extends pg.QueryResultRow>(text: string) =>
    (await client.query<Row>(text)).rows
  const ledger = await readLedger(ask)
  const answers = files.flatMap(readAnswers)
  const statuses = checkAnswers(answers, ledger, fault)
  const { entries, streams } = await readJournal(ask, fault)
  checkEntries(entries, ledger, fault)
  await checkSensors(ask, entries, fault)
  await checkStore(ask, entries, fault)
  await client.end()
  return { answers: answers.length, statuses, events: ledger.size, streams, faults }
}

type Ask = <Row extends pg.QueryResultRow>(text: string) => Promise<Row[]>
type Fault = (text: string) => void

async function readLedger(ask: Ask): Promise<Map<string, Event>> {
  const rows = await ask<{ bits: Buffer; user: number; name: string } & Record<string, string>>(`
    SELECT uuid_send(l.key) AS bits, l.user_id AS "user", l.sensor_id AS sensor, l.at_ms AS at,
      l.temp_celsius AS temp, s.serial_number_key AS name
    FROM ledger l JOIN sensors s ON s.id = l.sensor_id`)
  return new Map(
    rows.map(({ bits, user, sensor, at, temp, name }) => [
      keyOfBits(bits, user),
      { sensorId: Number(sensor), atMs: Number(at), tempCelsius: Number(temp), name },
    ]),
  )
}

function readAnswers(file: string): RaceAnswer[] {
  // The last line of a killed process may be cut off.
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as RaceAnswer)
}

function checkAnswers(
  answers: readonly RaceAnswer[],
  ledger: ReadonlyMap<string, Event>,
  fault: Fault,
): Record<string, number> {
  const counts: Record<string, number> = { created: 0, duplicate: 0, conflict: 0 }
  const created = new Set<string>()
  for (const { userId, events, statuses } of answers) {
    for (const [at, [event, isOther]] of events.entries()) {
      const status = statuses[at] ?? ''
      counts[status] = (counts[status] ?? 0) + 1
      const { measurement } = raceEvent(event, isOther)
      const key = eventKeyOf(measurement.eventId, userId)
      const stored = ledger.get(key)
      if (stored === undefined) fault(`event ${event}: ${status}, and not in the ledger`)
      else if (isSameEvent(stored, measurement) === (status === 'conflict')) {
        fault(`event ${event}: ${status} is wrong`)
      }
      if (status !== 'created') continue
      if (created.has(key)) fault(`event ${event} was created twice`)
      created.add(key)
    }
  }
  return counts
}

type RaceMeasurement = ReturnType<typeof raceEvent>['measurement']

function isSameEvent(
  { tempCelsius, atMs, name }: Event,
  { tempCelsius: sentCelsius, measuredAtMs, serialNumber }: RaceMeasurement,
): boolean {
  const isSameSensor = name === serialNumberKey(serialNumber)
  return isSameSensor && tempCelsius === sentCelsius && atMs === measuredAtMs
}

async function readJournal(ask: Ask, fault: Fault) {
  const rows = await ask<{ stream: number; seq: string; entries: Buffer | null }>(`
    SELECT stream_id AS stream, seq, entries FROM journal ORDER BY stream_id, seq`)
  const last = new Map<number, number>()
  for (const { stream, seq } of rows) {
    const before = last.get(stream) ?? 0
    if (Number(seq) !== before + 1) fault(`stream ${stream} has a hole after ${before}`)
    last.set(stream, Number(seq))
  }
  for (const { stream, head } of await ask<{ stream: number; head: string }>(`
    SELECT stream_id AS stream, head FROM streams`)) {
    if (Number(head) !== (last.get(stream) ?? 0)) fault(`the head of stream ${stream} is ${head}`)
  }
  const parts = rows.flatMap(({ entries }) => (entries === null ? [] : decodeEntries(entries)))
  const columns = new ColumnsGatherer().gather(parts)
  const entries = Array.from({ length: columns.count }, (_, at): Entry => {
    return {
      sensorId: columns.sensorId[at] ?? 0,
      atMs: columns.measuredAtMs[at] ?? 0,
      tieBreakNs: columns.tieBreakNs[at] ?? 0,
      tempCelsius: columns.tempCelsius[at] ?? 0,
    }
  })
  return { entries, streams: last.size }
}

function checkEntries(
  entries: readonly Entry[],
  ledger: ReadonlyMap<string, Event>,
  fault: Fault,
): void {
  const textOf = ({ sensorId, atMs, tempCelsius }: Event | Entry) =>
    `${sensorId} ${atMs} ${tempCelsius}`
  const expected = [...ledger.values()].map(textOf).toSorted(byText)
  const found = entries.map(textOf).toSorted(byText)
  if (expected.length !== found.length) {
    fault(`the journal has ${found.length} events, the ledger ${expected.length}`)
  } else if (expected.some((text, at) => text !== found[at])) fault('journal and ledger differ')
  if (new Set(entries.map(placeOf)).size !== entries.length) fault('two events are at one place')
}

async function checkSensors(ask: Ask, entries: readonly Entry[], fault: Fault): Promise<void> {
  const bySensor = Map.groupBy(entries, ({ sensorId }) => sensorId)
  for (const row of await ask<{ id: number; at: string; tie: number; temp: number }>(`
    SELECT sensor_id AS id, measured_at_ms AS at, tie_break AS tie, temp_celsius AS temp
    FROM sensor_state WHERE measured_at_ms IS NOT NULL`)) {
    const own = bySensor.get(row.id) ?? []
    const isLatest = (entry: Entry) => entry.atMs === Number(row.at) && entry.tieBreakNs === row.tie
    const isLater = (entry: Entry) =>
      entry.atMs > Number(row.at) || (entry.atMs === Number(row.at) && entry.tieBreakNs > row.tie)
    if (own.some(isLater)) fault(`sensor ${row.id} has a later measurement than its latest`)
    if (own.find(isLatest)?.tempCelsius !== row.temp) fault(`sensor ${row.id} has a wrong latest`)
  }
  const perDay = new Map<string, number>()
  for (const { sensorId, atMs } of entries) {
    const day = `${sensorId} ${Math.floor(atMs / DAY_MS)}`
    perDay.set(day, (perDay.get(day) ?? 0) + 1)
  }
  for (const row of await ask<{ day: string; n: number }>(`
    SELECT d.sensor_id || ' ' || d.day AS day, d.measurements AS n FROM accepted_per_day d
    JOIN sensor_state s ON s.sensor_id = d.sensor_id`)) {
    if (perDay.get(row.day) !== row.n) fault(`${row.n} are counted for ${row.day}`)
  }
  for (const row of await ask<{ user: number; n: number; live: number }>(`
    SELECT u.user_id AS "user", u.sensors AS n, (SELECT count(*)::int FROM sensors s
      WHERE s.user_id = u.user_id AND s.deleted_at_ms IS NULL) AS live
    FROM user_state u`)) {
    if (row.n !== row.live) fault(`user ${row.user} has ${row.live} sensors, not ${row.n}`)
  }
}

/** Everything of live sensors is in the store, once; nothing of deleted ones. */
async function checkStore(ask: Ask, entries: readonly Entry[], fault: Fault): Promise<void> {
  const live = new Set(
    (await ask<{ id: number }>('SELECT sensor_id AS id FROM sensor_state')).map(({ id }) => id),
  )
  const rows = await ask<{ id: number; at: string; tie: number; temp: number }>(`
    SELECT sensor_id AS id, at_ms AS at, tie_break_ns AS tie, temp_celsius AS temp
    FROM measurements`)
  const stored = rows.map(({ id, at, tie, temp }) => {
    return { sensorId: id, atMs: Number(at), tieBreakNs: tie, tempCelsius: temp }
  })
  const expected = new Set(entries.filter(({ sensorId }) => live.has(sensorId)).map(wholeOf))
  const missing = expected.size - stored.filter((entry) => expected.has(wholeOf(entry))).length
  if (missing > 0) fault(`the store lacks ${missing} measurements`)
  const surplus = stored.filter((entry) => !expected.has(wholeOf(entry)))
  if (surplus.length > 0) fault(`the store has ${surplus.length} measurements too many`)
}

function placeOf({ sensorId, atMs, tieBreakNs }: Entry): string {
  return `${sensorId} ${atMs} ${tieBreakNs}`
}

function wholeOf(entry: Entry): string {
  return `${placeOf(entry)} ${entry.tempCelsius}`
}

function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}
