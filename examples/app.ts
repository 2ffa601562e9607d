// A whole app in one file, with nothing but Node: it signs in, shows at once what it keeps, catches
// up, follows live events, and works without a network. docs/mobile.md explains each step.
//
//   bin/node examples/app.ts 'http://192.168.178.20:8080/#/link/xqSW…'    with a one-time link
//   bin/node examples/app.ts http://127.0.0.1:8080 thm_live_…             with a mobile token
//   bin/node examples/app.ts                                              as the last time
//
// Type the number of a sensor for its chart, `out` to sign out. It keeps app.db and app.token.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'

const VERSION = '1.0.0'
const TOKEN_FILE = 'app.token'
const HOUR_MS = 3_600_000
/** When not even a comment comes the network is gone. */
const SILENCE_MS_MAX = 45_000
const RETRY_MS = 1_000
const HEIGHT = 10

interface Sensor {
  readonly id: number
  readonly alias: string
  readonly online: boolean
  readonly latest: { readonly temp: number } | null
}

interface Changes {
  readonly cursor: string
  readonly reset: boolean
  readonly sensors: readonly Sensor[]
  readonly deleted: readonly number[]
  readonly histories: readonly { readonly sensor_id: number; readonly from: string | null }[]
}

/** What a history is one of. */
export interface Series {
  readonly sensor_id: number
  readonly bucket: string
  readonly tz: string
}

interface Period {
  readonly from_ms: number
  readonly to_ms: number
}

interface Point extends Period {
  readonly temp: number | null
  readonly min: number | null
  readonly max: number | null
}

export interface History {
  readonly from: string
  readonly to: string
  readonly complete: boolean
  readonly points: readonly (Omit<Point, keyof Period> & { readonly timestamp: string })[]
}

// What is kept. Statements and rules are those of docs/mobile.md.
const database = new DatabaseSync(process.env['APP_DB'] ?? 'app.db', { timeout: 5_000 })
database.exec(`
PRAGMA foreign_keys = ON;
CREATE TABLE IF NOT EXISTS account (
  user_id INTEGER PRIMARY KEY, url TEXT NOT NULL, cursor TEXT, as_of_ms INTEGER
);
CREATE TABLE IF NOT EXISTS sensor (id INTEGER PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS period (
  sensor_id INTEGER NOT NULL REFERENCES sensor ON DELETE CASCADE,
  bucket TEXT NOT NULL, tz TEXT NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS point (
  sensor_id INTEGER NOT NULL REFERENCES sensor ON DELETE CASCADE,
  bucket TEXT NOT NULL, tz TEXT NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL,
  temp REAL NOT NULL, min REAL, max REAL
);
CREATE INDEX IF NOT EXISTS point_of_series ON point (sensor_id, bucket, tz, from_ms);
`)

const OF_SERIES = 'sensor_id = :sensor_id AND bucket = :bucket AND tz = :tz'
const WITHIN = `${OF_SERIES} AND from_ms >= :from_ms AND from_ms < :to_ms`
const TOUCHING = `${OF_SERIES} AND from_ms <= :to_ms AND to_ms >= :from_ms`

/** @returns the rows of a statement that has some */
function run<Row>(statement: string, values: Record<string, string | number | null> = {}): Row[] {
  return database.prepare(statement).all(values) as Row[]
}

function inTransaction(work: () => void): void {
  run('BEGIN IMMEDIATE')
  try {
    work()
    run('COMMIT')
  } catch (error) {
    run('ROLLBACK')
    throw error
  }
}

function account() {
  type Account = { url: string; user_id: number; cursor: string | null; as_of_ms: number }
  return run<Account>('SELECT * FROM account')[0]
}

/** What is kept of somebody else, or of another service, goes. */
export function begin(url: string, user_id: number): void {
  const { url: keptUrl, user_id: keptId } = account() ?? {}
  if (keptUrl === url && keptId === user_id) return
  inTransaction(() => {
    run('DELETE FROM sensor')
    run('DELETE FROM account')
    run('INSERT INTO account (user_id, url) VALUES (:user_id, :url)', { user_id, url })
  })
}

export function apply(changes: Changes, as_of_ms: number): void {
  const { cursor, reset, sensors, deleted, histories } = changes
  const putSensor = `INSERT INTO sensor (id, json) VALUES (:id, :json)
    ON CONFLICT (id) DO UPDATE SET json = excluded.json`
  inTransaction(() => {
    if (reset) run('DELETE FROM sensor')
    for (const sensor of sensors) run(putSensor, { id: sensor.id, json: JSON.stringify(sensor) })
    for (const id of deleted) run('DELETE FROM sensor WHERE id = :id', { id })
    for (const { sensor_id, from } of histories) forget(sensor_id, from)
    run('UPDATE account SET cursor = :cursor, as_of_ms = :as_of_ms', { cursor, as_of_ms })
  })
}

/** @param from `null`: all of it */
function forget(sensor_id: number, from: string | null): void {
  const row = { sensor_id, from_ms: from === null ? 0 : Date.parse(from) }
  const changed = 'sensor_id = :sensor_id AND to_ms > :from_ms'
  run(`DELETE FROM point WHERE ${changed}`, row)
  run(`UPDATE period SET to_ms = :from_ms WHERE ${changed}`, row)
  run('DELETE FROM period WHERE to_ms <= from_ms')
}

export function keep(series: Series, history: History): void {
  if (!history.complete) return
  const period = { ...series, from_ms: Date.parse(history.from), to_ms: Date.parse(history.to) }
  const points = pointsOf(history).filter(({ temp }) => temp !== null)
  const insertPoint = `INSERT INTO point (sensor_id, bucket, tz, from_ms, to_ms, temp, min, max)
    VALUES (:sensor_id, :bucket, :tz, :from_ms, :to_ms, :temp, :min, :max)`
  // Periods that touch become one.
  const insertPeriod = `INSERT INTO period (sensor_id, bucket, tz, from_ms, to_ms)
    SELECT :sensor_id, :bucket, :tz,
      min(:from_ms, coalesce(min(from_ms), :from_ms)), max(:to_ms, coalesce(max(to_ms), :to_ms))
    FROM period WHERE ${TOUCHING}`
  inTransaction(() => {
    run(`DELETE FROM point WHERE ${WITHIN}`, period)
    for (const point of points) run(insertPoint, { ...series, ...point })
    run(insertPeriod, period)
    run(`DELETE FROM period WHERE ${TOUCHING} AND rowid <> last_insert_rowid()`, period)
  })
}

/** The end of what is kept from the beginning of a period on, without a break. */
export function knownUntilMs(series: Series, { from_ms }: Period): number {
  const query = `SELECT coalesce(max(to_ms), :from_ms) AS known_until_ms FROM period
    WHERE ${OF_SERIES} AND from_ms <= :from_ms AND to_ms > :from_ms`
  const [row] = run<{ known_until_ms: number }>(query, { ...series, from_ms })
  return row?.known_until_ms ?? from_ms
}

export function keptPoints(series: Series, period: Period): Point[] {
  const query = `SELECT * FROM point WHERE ${WITHIN} ORDER BY from_ms`
  return run<Point>(query, { ...series, ...period })
}

/** With `fill=null` a bucket ends where the next one begins. */
export function pointsOf({ points, to }: History): Point[] {
  return points.map(({ timestamp, temp, min, max }, index) => {
    const to_ms = Date.parse(points[index + 1]?.timestamp ?? to)
    return { from_ms: Date.parse(timestamp), to_ms, temp, min, max }
  })
}

/** An answer other than 2xx. */
class Refused extends Error {
  readonly response: Response

  constructor(response: Response, text: string) {
    super(`${response.status} ${text}`)
    this.response = response
  }
}

class Api {
  readonly #url: string
  readonly #token: string | undefined
  /** Of the service: clocks of phones can be wrong. */
  #aheadMs = 0

  constructor(url: string, token?: string) {
    this.#url = url
    this.#token = token
  }

  get nowMs(): number {
    return Date.now() + this.#aheadMs
  }

  async call<Data>(path: string, order: RequestInit = {}): Promise<Data> {
    const response = await this.send(path, { ...order, signal: AbortSignal.timeout(30_000) })
    return ((await response.json()) as { data: Data }).data
  }

  /** Something comes when something has changed, and at the latest after eight seconds. */
  async *listen(): AsyncGenerator<void> {
    const silence = new AbortController()
    const timer = setTimeout(() => silence.abort(new Error('silence')), SILENCE_MS_MAX)
    try {
      const { body } = await this.send('/events', { signal: silence.signal })
      for await (const _ of body ?? []) {
        timer.refresh()
        yield
      }
    } finally {
      clearTimeout(timer)
    }
  }

  async send(path: string, order: RequestInit): Promise<Response> {
    const headers = {
      'X-App-Name': 'The example app',
      ...(this.#token !== undefined && { Authorization: `Bearer ${this.#token}` }),
      ...(order.body && { 'Content-Type': 'application/json' }),
    }
    const response = await fetch(`${this.#url}/api/mobile/v1${path}`, { ...order, headers })
    this.#aheadMs = Date.parse(response.headers.get('Date') ?? '') - Date.now() || 0
    if (response.ok) return response
    throw new Refused(response, await response.text())
  }
}

// What a person sees and does.
let chosenId: number | undefined

/** @param place a link, or an address and a token; without either: as the last time */
async function signIn([place, printed]: readonly string[]): Promise<Api> {
  if (place === undefined && existsSync(TOKEN_FILE)) {
    const [keptUrl = '', token] = readFileSync(TOKEN_FILE, 'utf8').split(' ')
    // A token never goes to another service than its own.
    if (account()?.url === keptUrl) return new Api(keptUrl, token)
  }
  // What PUBLIC_URL is, perhaps with a path, and the code.
  const [, url = '', code] = /^(http[^#]+?)\/?(?:#\/link\/([\w-]+))?$/.exec(place ?? '') ?? []
  if (code === undefined && printed === undefined) throw new Error('You are not signed in.')
  const api = new Api(url)
  const { app } = await api.call<{ app: { minimum_version: string | null } }>('/bootstrap')
  if (isOlder(VERSION, app.minimum_version ?? '0')) throw new Error('Update this app first.')
  const token = printed ?? (await redeem(api, code ?? ''))
  const user = await new Api(url, token).call<{ id: number }>('/me')
  rmSync(TOKEN_FILE, { force: true })
  begin(url, user.id)
  writeFileSync(TOKEN_FILE, `${url} ${token}`, { mode: 0o600 })
  return new Api(url, token)
}

async function redeem(api: Api, code: string): Promise<string> {
  // Sent again with the same verifier, for two minutes, a code gives the same token.
  const body = JSON.stringify({ code, code_verifier: randomBytes(32).toString('base64url') })
  const post = () => api.call<{ token: string }>('/auth/link', { method: 'POST', body })
  const { token } = await post().catch((error: unknown) => {
    if (error instanceof Refused) throw error
    return post()
  })
  return token
}

/** Versions have as many numbers between dots as the minimum. */
export function isOlder(version: string, minimum: string): boolean {
  return version.localeCompare(minimum, 'en', { numeric: true }) < 0
}

/** Follows until the token ends. */
async function follow(api: Api): Promise<never> {
  show(api.nowMs, 'Catching up')
  for (let delayMs = RETRY_MS; ; delayMs = Math.min(2 * delayMs, 60_000)) {
    try {
      // The stream first: it tells of what happens while all else is asked for.
      for await (const _ of api.listen()) {
        await catchUp(api)
        await readChart(api)
        show(api.nowMs)
        delayMs = RETRY_MS
      }
    } catch (error) {
      const answer = error instanceof Refused ? error.response : undefined
      if (answer?.status === 401) throw error
      show(api.nowMs, `Offline: ${(error as Error).message}`)
      const retryAfter = Number(answer?.headers.get('Retry-After') ?? 0) || 0
      delayMs = Math.max(delayMs, 1_000 * Math.min(retryAfter, 3_600))
    }
    await pause(delayMs * (0.5 + Math.random() / 2))
  }
}

/** What is typed while the chart is shown. */
async function obey(api: Api, line: string): Promise<void> {
  chosenId = Number(line)
  const obeyed = line === 'out' ? api.send('/logout', { method: 'POST' }) : readChart(api)
  const trouble = await obeyed.then(() => undefined, String)
  show(api.nowMs, trouble)
}

async function catchUp(api: Api): Promise<void> {
  const { cursor } = account() ?? {}
  const since = cursor ? `?since=${encodeURIComponent(cursor)}` : ''
  apply(await api.call<Changes>(`/changes${since}`), api.nowMs)
}

function chartAt(nowMs: number) {
  const rows = run<{ json: string }>('SELECT json FROM sensor ORDER BY id')
  const sensors = rows.map(({ json }) => JSON.parse(json) as Sensor)
  const sensor = sensors.find(({ id }) => id === chosenId) ?? sensors[0]
  const to_ms = Math.ceil((nowMs + 1) / HOUR_MS) * HOUR_MS
  const series = { sensor_id: sensor?.id ?? 0, bucket: 'hour', tz: 'UTC' }
  return { sensors, sensor, series, period: { from_ms: to_ms - 24 * HOUR_MS, to_ms } }
}

async function readChart(api: Api): Promise<void> {
  const { sensor, series, period } = chartAt(api.nowMs)
  if (sensor === undefined) return
  const from_ms = knownUntilMs(series, period)
  if (from_ms >= period.to_ms) return
  const [from, to] = [from_ms, period.to_ms].map((atMs) => new Date(atMs).toISOString())
  const query = `from=${from}&to=${to}&bucket=hour&fill=null`
  const { cursor } = account() ?? {}
  const history = await api.call<History>(`/sensors/${sensor.id}/measurements?${query}`)
  // Else it may be older than what has been applied since.
  if (account()?.cursor === cursor) keep(series, history)
}

function show(nowMs: number, state = 'Live'): void {
  const { sensors, sensor, series, period } = chartAt(nowMs)
  const list = sensors.map(({ id, alias, online, latest }) => {
    const temp = latest?.temp.toFixed(2) ?? '–'
    return `${String(id).padStart(6)} ${online ? '●' : '○'} ${temp.padStart(7)} °C  ${alias}`
  })
  const { as_of_ms: asOfMs } = account() ?? {}
  const asOf = asOfMs ? `as of ${new Date(asOfMs).toLocaleString()}` : 'nothing is kept yet'
  const chart = drawChart(keptPoints(series, period), period)
  const title = `${sensor?.alias ?? 'No sensors yet'}, the last 24 hours: mean o, from min to max │`
  const clear = process.stdout.isTTY ? '\u001B[2J\u001B[H' : ''
  const lines = [...list, '', title, ...chart, '', `${state}, ${asOf}`]
  process.stdout.write(`${clear}${lines.map(printable).join('\n')}\n`)
}

/** Without what a terminal obeys. */
const printable = (text: string) => text.replace(/\p{Cc}/gu, '·')

/** A column for each hour; one without measurements is a gap. */
function drawChart(points: readonly Point[], { from_ms }: Period): string[] {
  const lowest = Math.min(...points.map(({ min, temp }) => min ?? temp ?? Infinity))
  const highest = Math.max(...points.map(({ max, temp }) => max ?? temp ?? -Infinity))
  const step = (highest - lowest) / (HEIGHT - 1) || 1
  const rowOf = (temp: number | null) => Math.round(((temp ?? NaN) - lowest) / step)
  const hours = Array.from({ length: 24 }, (_, hour) => {
    return points.find((point) => point.from_ms === from_ms + hour * HOUR_MS)
  })
  return Array.from({ length: points.length > 0 ? HEIGHT : 0 }, (_, fromTop) => {
    const row = HEIGHT - 1 - fromTop
    const cells = hours.map((point) => {
      if (point === undefined) return ' '
      if (rowOf(point.temp) === row) return 'o'
      return rowOf(point.min) <= row && row <= rowOf(point.max) ? '│' : ' '
    })
    return `${(lowest + row * step).toFixed(1).padStart(6)} ${cells.join(' ')}`
  })
}

async function main(): Promise<never> {
  const lines = createInterface({ input: process.stdin })
  let place: readonly string[] = process.argv.slice(2)
  for (;;) {
    try {
      const api = await signIn(place)
      lines.on('line', (line) => void obey(api, line))
      await follow(api)
    } catch (error) {
      lines.removeAllListeners('line')
      const isOver = error instanceof Refused && error.response.status === 401
      if (isOver) rmSync(TOKEN_FILE, { force: true })
      process.stdout.write(`${isOver ? 'You are signed out.' : (error as Error).message}\n`)
    }
    process.stdout.write('A sign-in link, or an address and a token: ')
    const [line] = (await once(lines, 'line')) as [string]
    place = line.trim().split(/ +/)
  }
}

if (import.meta.main) await main()
