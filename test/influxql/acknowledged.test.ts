// Goal: what was acknowledged before a question was sent is in its answer, or the answer says that
// it is not. Method: random submissions in each form, and questions right after them, while the
// store is still behind; all that was acknowledged is kept beside it, and answers computed anew.

import { expect } from 'chai'
import fc from 'fast-check'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/domain/time.ts'
import { send, sendBatch } from '../support/http.ts'
import { ask } from '../support/influxql.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

/** Lines name the same sensors with these. */
const NAMES = [1, 2, 3, 4].map((at) => `28FF641E9316043${at}`)
const MINUTES = 6 * 60

interface Point {
  readonly sn: string
  readonly atMs: number
  readonly temp: number
}

const AGGREGATES: Readonly<Record<string, (temps: readonly number[]) => number>> = {
  count: (temps) => temps.length,
  last: (temps) => temps.at(-1) ?? NaN,
  max: (temps) => Math.max(...temps),
  mean: (temps) => Math.round((sumOf(temps) / temps.length) * 1e6) / 1e6,
  min: (temps) => Math.min(...temps),
  sum: (temps) => sumOf(temps),
}

const submission = fc.record({
  form: fc.constantFrom('single', 'batch', 'lines'),
  readings: fc.array(
    fc.record({
      sn: fc.constantFrom(...NAMES),
      minutesAgo: fc.integer({ min: 1, max: MINUTES }),
      quarters: fc.integer({ min: -80, max: 200 }),
    }),
    { minLength: 1, maxLength: 4 },
  ),
})

const period = fc.record({
  minutesAgo: fc.integer({ min: 1, max: MINUTES }),
  minutes: fc.integer({ min: 10, max: MINUTES }),
})

const select = fc.record({
  kind: fc.constant('select' as const),
  period,
  sn: fc.option(fc.constantFrom(...NAMES)),
  isApart: fc.boolean(),
  isDescending: fc.boolean(),
  limit: fc.option(fc.integer({ min: 1, max: 4 })),
  columns: fc.oneof(
    fc.subarray(['raw', 'temp'], { minLength: 1 }),
    fc.subarray(Object.keys(AGGREGATES), { minLength: 1 }),
  ),
  windowS: fc.constantFrom(undefined, undefined, 30, 600, 3_600),
})

const history = fc.record({
  kind: fc.constant('history' as const),
  period,
  bucket: fc.constantFrom('raw', 'minute', 'hour'),
  isOfOne: fc.boolean(),
})

const newest = fc.record({ kind: fc.constant('newest' as const) })

const step = fc.record({
  submissions: fc.array(submission, { minLength: 1, maxLength: 2 }),
  questions: fc.array(fc.oneof({ weight: 3, arbitrary: select }, history, newest), {
    minLength: 1,
    maxLength: 3,
  }),
})

type Submission = typeof submission extends fc.Arbitrary<infer T> ? T : never
type Select = typeof select extends fc.Arbitrary<infer T> ? T : never
type History = typeof history extends fc.Arbitrary<infer T> ? T : never

describe('What was acknowledged before a question', () => {
  let service: TestService
  before(async () => {
    service = await startService({ RATE_LIMIT_REQUESTS: '0' })
  })
  after(() => service.stop())

  let users = 0
  let complete = 0

  it('is in the answer, unless that says that it is not', async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 5 }), async (steps) => {
      const token = await service.createToken(`u${++users}@example.org`)
      const sender = new Sender(service, token)
      for (const { submissions, questions } of steps) {
        await Promise.all(submissions.map((each) => sender.submit(each)))
        const asked = questions.map((question) => {
          if (question.kind === 'select') return sender.select(question)
          return question.kind === 'history' ? sender.history(question) : sender.newest()
        })
        for (const { answer, expected, about } of await Promise.all(asked)) {
          if (answer === undefined) continue
          complete++
          expect(answer, about).to.deep.equal(expected)
        }
      }
    })
    await fc.assert(property, { numRuns: 30 })
    expect(complete).to.be.greaterThan(0)
  })
})

interface Answered {
  /** `undefined`: it says that it is not complete. */
  readonly answer: unknown
  readonly expected: unknown
  readonly about: string
}

class Sender {
  readonly #service: TestService
  readonly #token: string
  readonly #points: Point[] = []

  constructor(service: TestService, token: string) {
    this.#service = service
    this.#token = token
  }

  async submit({ form, readings }: Submission): Promise<void> {
    const { url } = this.#service
    const sent = form === 'single' ? readings.slice(0, 1) : readings
    const points = sent.map(({ sn, minutesAgo, quarters }) => {
      return { sn, atMs: this.#agoMs(minutesAgo) + nextMs(), temp: quarters / 4 }
    })
    if (form === 'lines') {
      const lines = points.map(({ sn, atMs, temp }) => `room,sn=${sn} temp=${temp} ${atMs}`)
      const headers = { authorization: `Token ${this.#token}` }
      const path = '/api/v2/write?precision=ms'
      const { status } = await send(url, { method: 'POST', path, headers, body: lines.join('\n') })
      expect(status).to.equal(204)
    } else {
      const elements = points.map(({ sn, atMs, temp }) => {
        return { sn, temp, timestamp: new Date(atMs).toISOString() }
      })
      const path = '/api/v1/measurements'
      const token = this.#token
      const { status } =
        form === 'batch'
          ? await sendBatch(url, token, elements)
          : await send(url, { method: 'POST', path, token, body: elements[0] })
      expect(status).to.equal(201)
    }
    this.#points.push(...points)
  }

  async select(asked: Select): Promise<Answered> {
    const { sn, isApart, isDescending, limit, columns, windowS } = asked
    const range = this.#rangeOf(asked.period)
    const isAggregate = columns.every((column) => Object.hasOwn(AGGREGATES, column))
    const windowMs = isAggregate && windowS !== undefined ? windowS * SECOND_MS : undefined
    const wanted = columns.map((column) => (isAggregate ? `${column}("temp")` : `"${column}"`))
    const tags = isApart ? ['"sn"'] : []
    const groups = windowMs === undefined ? tags : [`time(${windowMs / SECOND_MS}s)`, ...tags]
    const q = [
      `SELECT ${wanted.join(', ')} FROM "temperature"`,
      `WHERE time >= ${range.startMs}ms AND time < ${range.stopMs}ms`,
      sn === null ? '' : `AND "sn" = '${sn}'`,
      groups.length > 0 ? `GROUP BY ${groups.join(', ')}` : '',
      windowMs === undefined ? '' : 'fill(none)',
      isDescending ? 'ORDER BY time DESC' : '',
      limit === null ? '' : `LIMIT ${limit}`,
    ].join(' ')
    const points = this.#within(onGrid(range, windowMs ?? 1)).filter((point) => {
      return sn === null || point.sn === sn
    })
    const expected = seriesOf(points, isApart).map((own) => {
      const rows = isAggregate
        ? aggregated(own, columns, windowMs)
        : own.map(({ atMs, temp }) => [atMs, ...columns.map(() => temp)])
      const ordered = isDescending ? rows.toReversed() : rows
      return ordered.slice(0, limit ?? Infinity)
    })
    const { series, messages, status } = await ask(this.#service.url, this.#token, q)
    // The time of a total is not looked at.
    const read = series.map(({ values }) => {
      return isAggregate && windowMs === undefined ? values.map(([, ...rest]) => rest) : values
    })
    const answer = messages === undefined && status !== 503 ? read : undefined
    return { answer, expected, about: q }
  }

  async history({ period: asked, bucket, isOfOne }: History): Promise<Answered> {
    const windowMs = { raw: 1, minute: MINUTE_MS, hour: HOUR_MS }[bucket] ?? 1
    const range = this.#rangeOf(asked)
    const [url, token] = [this.#service.url, this.#token]
    const points = this.#within(onGrid(range, windowMs))
    const list = await send(url, { path: '/api/v1/sensors', token })
    const sensors = list.body.data as readonly { readonly id: number; readonly sn: string }[]
    const [from, to] = [range.startMs, range.stopMs].map((atMs) => new Date(atMs).toISOString())
    const question = `from=${from}&to=${to}&bucket=${bucket}`
    const ids = sensors.map(({ id }) => id)
    const path = isOfOne
      ? `/api/v1/sensors/${ids[0]}/measurements?${question}`
      : `/api/v1/measurements?sensors=${ids.join(',')}&${question}`
    const { status, body } = await send(url, { path, token })
    const series = (isOfOne ? [body.data] : body.data?.series) as readonly {
      readonly complete: boolean
      readonly points: readonly Readonly<Record<string, unknown>>[]
    }[]
    const isComplete = status === 200 && series.every((one) => one.complete)
    const expected = sensors.slice(0, isOfOne ? 1 : Infinity).map(({ sn }) => {
      const own = points.filter((point) => point.sn === sn)
      if (bucket === 'raw') return own.map(({ atMs, temp }) => [atMs, temp])
      return aggregated(own, ['mean', 'min', 'max', 'count'], windowMs)
    })
    const answer = series?.map((one) =>
      one.points.map(({ timestamp, ...rest }) => [
        Date.parse(String(timestamp)),
        ...Object.values(rest),
      ]),
    )
    return { answer: isComplete ? answer : undefined, expected, about: path }
  }

  /** What the list of sensors has is never late. */
  async newest(): Promise<Answered> {
    const q = 'SELECT "temp" FROM "sensor" GROUP BY "sn"'
    const expected = seriesOf(this.#within({ startMs: 0, stopMs: Infinity }), true).map((own) => {
      return own.at(-1)?.temp
    })
    const { rows } = await ask(this.#service.url, this.#token, q)
    return { answer: rows.map(({ temp }) => temp), expected, about: q }
  }

  #agoMs(minutes: number): number {
    return this.#service.clock.nowMs() - minutes * MINUTE_MS
  }

  #rangeOf({ minutesAgo, minutes }: Select['period']) {
    const startMs = this.#agoMs(minutesAgo)
    return { startMs, stopMs: startMs + minutes * MINUTE_MS }
  }

  /** Ascending. */
  #within({ startMs, stopMs }: { readonly startMs: number; readonly stopMs: number }): Point[] {
    return this.#points
      .filter(({ atMs }) => atMs >= startMs && atMs < stopMs)
      .toSorted((one, other) => one.atMs - other.atMs)
  }
}

let lastMs = 0
/** No two measurements have one time. */
function nextMs(): number {
  return lastMs++ % MINUTE_MS
}

function onGrid({ startMs, stopMs }: { startMs: number; stopMs: number }, windowMs: number) {
  const floor = (atMs: number) => Math.floor(atMs / windowMs) * windowMs
  return { startMs: floor(startMs), stopMs: -floor(-stopMs) }
}

/** The points of each series that has any, by their names. */
function seriesOf(points: readonly Point[], isApart: boolean): readonly (readonly Point[])[] {
  const groups = Map.groupBy(points, ({ sn }) => (isApart ? sn : ''))
  return [...groups.keys()].toSorted().map((name) => groups.get(name) ?? [])
}

/** Of each window, after its beginning; without windows only of all. */
function aggregated(
  points: readonly Point[],
  names: readonly string[],
  windowMs: number | undefined,
): readonly number[][] {
  const start = (atMs: number) => atMs - (atMs % (windowMs ?? DAY_MS * 1e6))
  return [...Map.groupBy(points, ({ atMs }) => start(atMs))].map(([startMs, own]) => {
    const temps = own.map(({ temp }) => temp)
    const values = names.map((name) => AGGREGATES[name]?.(temps) ?? NaN)
    return windowMs === undefined ? values : [startMs, ...values]
  })
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
