// Goal: what a chart and its table say is what was sent and what the API answers, in every period
// and bucket, over days of 23 and of 25 hours, gaps and a compensation, in both units. Method: a
// real browser walks through periods; what is right is computed here, from what was sent alone.

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { tokenOf, useChartPage } from './chart-page.ts'
import { send } from '../support/http.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const BUCKETS = {
  raw: 0,
  minute: MINUTE_MS,
  '5min': 5 * MINUTE_MS,
  '15min': 15 * MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
}
const ZONE = 'Europe/Berlin'
const COMPENSATION = -0.73
/** What the API rounds to. */
const SIX_DIGITS = 0.000_001
/** What the page rounds to, after the API. */
const TWO_DIGITS = 0.005_01
/** Means that are closer together than this are one. */
const SAME_CELSIUS = 0.1
const BATCH = 500
const GAP_BUCKETS_MIN = 2

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

interface Measured {
  readonly atMs: number
  /** Compensated. */
  readonly celsius: number
}

interface Point {
  readonly startMs: number
  readonly mean: number
  readonly min: number
  readonly max: number
  readonly count: number
}

type Walk = readonly (readonly [period: string, bucket: keyof typeof BUCKETS])[]

interface Walked {
  readonly sn: string
  readonly id: number
  readonly measured: readonly Measured[]
  readonly gaps: readonly Span[]
  readonly walk: Walk
}

const UNITS = [
  { unit: 'C', locale: 'en-GB', ofCelsius: (celsius: number) => celsius },
  { unit: 'F', locale: 'en-US', ofCelsius: (celsius: number) => celsius * 1.8 + 32 },
] as const

const localDay = new Intl.DateTimeFormat('en-CA', { timeZone: ZONE })

/** A sensor every ten minutes of the days around both changes of the clock. */
function changeOfClock(): Walked {
  const spring = span('2025-03-28T23:00Z', '2025-04-01T22:00Z')
  const autumn = span('2025-10-24T22:00Z', '2025-10-28T23:00Z')
  const gaps = [
    span('2025-03-31T05:00Z', '2025-03-31T12:10Z'),
    { fromMs: spring.toMs, toMs: autumn.fromMs },
    span('2025-10-27T21:00Z', '2025-10-28T04:00Z'),
  ]
  const measured = [spring, autumn].flatMap((days) => measuredEvery(10 * MINUTE_MS, days))
  const walk: Walk = [
    ['2025-03-30T00:30:00Z/2025-03-30T01:30:00Z', 'raw'],
    ['2025-03-29T23:00:00Z/2025-03-30T22:00:00Z', 'minute'],
    ['2025-03-28T23:00:00Z/2025-04-01T22:00:00Z', '5min'],
    ['2025-03-25T07:20:00Z/2025-04-03T19:05:00Z', '15min'],
    ['2025-03-10T09:40:00Z/2025-04-11T10:10:00Z', 'hour'],
    ['2025-01-15T12:00:00Z/2025-05-15T12:00:00Z', 'day'],
    ['2025-10-26T00:30:00Z/2025-10-26T01:30:00Z', 'raw'],
    ['2025-10-25T22:00:00Z/2025-10-26T23:00:00Z', 'minute'],
    ['2025-10-24T22:00:00Z/2025-10-28T23:00:00Z', '5min'],
    ['2025-10-20T07:20:00Z/2025-10-30T19:05:00Z', '15min'],
    ['2025-10-10T09:40:00Z/2025-11-11T10:10:00Z', 'hour'],
    ['2025-01-01T12:00:00Z/2025-12-31T12:00:00Z', 'day'],
  ]
  return { sn: 'clock', id: 3, measured: outside(gaps, measured), gaps, walk }
}

/** A sensor until now, which has sent ever more often; no period begins at a measurement. */
function untilNow(): Walked {
  const lastMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 5 * MINUTE_MS
  const before = (days: number) => lastMs - days * DAY_MS
  const gaps = [{ fromMs: lastMs - 20 * HOUR_MS, toMs: lastMs - 15 * HOUR_MS }]
  const measured = [
    ...measuredEvery(DAY_MS, { fromMs: before(300), toMs: before(32) }),
    ...measuredEvery(HOUR_MS, { fromMs: before(32), toMs: before(3) }),
    ...measuredEvery(10 * MINUTE_MS, { fromMs: before(3), toMs: lastMs + 1 }),
  ]
  const walk: Walk = [
    ['1h', 'raw'],
    ['1d', 'minute'],
    ['1w', '15min'],
    ['1m', 'hour'],
    ['1y', 'day'],
  ]
  return { sn: 'now', id: 4, measured: outside(gaps, measured), gaps, walk }
}

function span(from: string, to: string): Span {
  return { fromMs: Date.parse(from), toMs: Date.parse(to) }
}

/** About zero, with no two values near each other alike. */
function measuredEvery(stepMs: number, { fromMs, toMs }: Span): Measured[] {
  return Array.from({ length: Math.ceil((toMs - fromMs) / stepMs) }, (_, at) => {
    const atMs = fromMs + at * stepMs
    const wave = -2 + 9 * Math.sin((2 * Math.PI * atMs) / (1.3 * DAY_MS))
    const sent = Math.round((wave + ((atMs / MINUTE_MS) % 97) / 50) * 100) / 100
    return { atMs, celsius: sent + COMPENSATION }
  })
}

function outside(gaps: readonly Span[], measured: readonly Measured[]): Measured[] {
  return measured.filter(({ atMs }) => {
    return !gaps.some(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs)
  })
}

function startOfDay(atMs: number): number {
  const day = localDay.format(atMs)
  const inSummerMs = Date.parse(`${day}T00:00+02:00`)
  return localDay.format(inSummerMs) === day ? inSummerMs : inSummerMs + HOUR_MS
}

/** The points of every bucket that a period touches. */
function pointsIn({ fromMs, toMs }: Span, bucketMs: number, measured: readonly Measured[]) {
  const startOf = (atMs: number) => {
    if (bucketMs === DAY_MS) return startOfDay(atMs)
    return bucketMs === 0 ? atMs : Math.floor(atMs / bucketMs) * bucketMs
  }
  const shown = measured.filter(({ atMs }) => startOf(fromMs) <= atMs && startOf(atMs) < toMs)
  const byBucket = Map.groupBy(shown, ({ atMs }) => startOf(atMs))
  return Array.from(byBucket, ([startMs, members]): Point => {
    const values = members.map(({ celsius }) => celsius)
    const count = values.length
    const mean = sumOf(values) / count
    return { startMs, mean, min: Math.min(...values), max: Math.max(...values), count }
  })
}

/** Each point stands for half of the way to its neighbours, at a gap to the end of its bucket. */
function meanOverTime(points: readonly Point[], bucketMs: number, gaps: readonly Span[]): number {
  const wayMs = (at: number) => {
    const [earlier, later] = [points[at - 1], points[at]]
    if (earlier === undefined || later === undefined) return bucketMs
    const isGap = gaps.some(({ fromMs, toMs }) => {
      const isLong = toMs - fromMs >= GAP_BUCKETS_MIN * bucketMs
      return isLong && earlier.startMs < fromMs && toMs <= later.startMs + bucketMs
    })
    return isGap ? bucketMs : later.startMs - earlier.startMs
  }
  const weights = points.map((_, at) => wayMs(at) + wayMs(at + 1))
  return sumOf(points.map(({ mean }, at) => mean * (weights[at] ?? 0))) / sumOf(weights)
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

/** The first number of a text. */
function numberOf(text = ''): number {
  return Number(/[−-]?[\d,]*\.?\d+/.exec(text)?.[0].replace('−', '-').replaceAll(',', ''))
}

/** Numbers, and months by three letters. */
function wordsOf(text: string): string[] {
  return text.match(/\d+|\p{L}{3}/gu) ?? []
}

/** What at least says when a point is. */
function timeWords({ startMs }: Point, bucketMs: number, locale: string): string[] {
  const format = (options: Intl.DateTimeFormatOptions, atMs = startMs) =>
    wordsOf(new Intl.DateTimeFormat(locale, { ...options, timeZone: ZONE }).format(atMs))
  const date = format({ day: 'numeric', month: 'short' })
  if (bucketMs === DAY_MS) return date
  const clock = { hour: locale === 'en-GB' ? '2-digit' : 'numeric', minute: '2-digit' } as const
  if (bucketMs === 0) return [...date, ...format({ ...clock, second: '2-digit' })]
  return [...date, ...format(clock), ...format(clock, startMs + bucketMs)]
}

describe('the numbers of a chart', () => {
  const test = useChartPage()
  let walked: readonly Walked[] = []

  before(async () => {
    walked = [changeOfClock(), untilNow()]
    for (const { sn, id, measured } of walked) {
      const all = measured.map(({ atMs, celsius }) => {
        const temp = Math.round((celsius - COMPENSATION) * 100) / 100
        return { sn, temp, timestamp: new Date(atMs).toISOString() }
      })
      for (let first = 0; first < all.length; first += BATCH) {
        const measurements = all.slice(first, first + BATCH)
        await test().call('POST', 'measurements/batch', { measurements })
      }
      await test().call('PATCH', `sensors/${id}`, { alias: sn, compensation: COMPENSATION })
    }
  })

  it('are those of what was sent, and of the API, in °C and in °F', async () => {
    await Promise.all(UNITS.map(walkThrough))
  })

  async function walkThrough({ unit, locale, ofCelsius }: (typeof UNITS)[number]): Promise<void> {
    const { page, close } = await test().openSignedIn('#/settings', { locale })
    await page.getByText('Live').waitFor()
    const token = await tokenOf(page)
    for (const { id, measured, gaps, walk } of walked) {
      for (const [period, bucket] of walk) {
        const question = await walkTo(page, `#/sensors/${id}/${period}`)
        const points = pointsIn(spanOf(question), BUCKETS[bucket], measured)
        const what = `${period} in °${unit}`
        const bucketMs = BUCKETS[bucket]
        const expected = { what, points, bucket, bucketMs, gaps, locale, ofCelsius }
        await expectAnswer(question, token, expected)
        await expectReadout(page, expected)
        await expectTable(page, expected)
      }
      await expectNoDataIn(page, `#/sensors/${id}`, gaps[0])
    }
    await close()
  }

  interface Expected {
    /** Period and unit. */
    readonly what: string
    readonly points: readonly Point[]
    readonly bucket: string
    readonly bucketMs: number
    readonly gaps: readonly Span[]
    readonly locale: string
    readonly ofCelsius: (celsius: number) => number
  }

  /** Goes to a chart, and gives the question by which the page reads it. */
  async function walkTo(page: Page, place: string): Promise<URL> {
    const path = `/${place.split('/').slice(1, 3).join('/')}/measurements`
    const answered = page.waitForResponse((response) => {
      return new URL(response.url()).pathname.endsWith(path)
    })
    await page.evaluate((hash) => void (location.hash = hash), place)
    const question = new URL((await answered).url())
    await page.locator('.readout dd', { hasText: '°' }).first().waitFor()
    return question
  }

  function spanOf({ searchParams }: URL): Span {
    return span(searchParams.get('from') ?? '', searchParams.get('to') ?? '')
  }

  async function expectAnswer(
    { pathname, search }: URL,
    token: string,
    { what, bucket, points }: Expected,
  ): Promise<void> {
    const { body } = await send(test().service.url, { path: pathname + search, token })
    expect(body.data, what).to.include({ bucket, complete: true })
    interface Answered {
      timestamp: string
      temp: number
      min?: number
      max?: number
      count?: number
    }
    const answered = (body.data.points as Answered[]).map((point) => {
      const { timestamp, temp, min = temp, max = temp, count = 1 } = point
      return [Date.parse(timestamp), temp, min, max, count]
    })
    const expected = points.map(({ startMs, mean, min, max, count }) => {
      return [startMs, mean, min, max, count]
    })
    expectNear(answered, expected, { within: SIX_DIGITS, what })
  }

  async function expectReadout(page: Page, expected: Expected): Promise<void> {
    const { what, points, bucketMs, gaps, locale, ofCelsius } = expected
    const parts = await page.locator('.readout div').evaluateAll((divs) => {
      return divs.map((div) => {
        const [name = '', number = '', note] = Array.from(div.children, (part) => part.textContent)
        return { name, number, note }
      })
    })
    const names = parts.map(({ name }) => name.replace(' over time', ''))
    expect(names, what).to.deep.equal(['Mean', 'Lowest', 'Highest', 'Count'])
    const total = sumOf(points.map(({ count }) => count))
    const overTime = meanOverTime(points, bucketMs, gaps)
    const ofAll = sumOf(points.map(({ mean, count }) => mean * count)) / total
    const coldest = points.reduce((one, other) => (other.min < one.min ? other : one))
    const warmest = points.reduce((one, other) => (other.max > one.max ? other : one))
    const celsius = [overTime, coldest.min, warmest.max]
    const shown = parts.map(({ number }) => numberOf(number))
    const right = [...celsius.map(ofCelsius), total]
    expectNear([shown], [right], { within: TWO_DIGITS, what })
    const [ofReadings, coldestWhen, warmestWhen] = parts.map(({ note }) => note)
    if (ofReadings === undefined) expect(ofAll, what).to.be.closeTo(overTime, SAME_CELSIUS)
    else expect(numberOf(ofReadings), what).to.be.closeTo(ofCelsius(ofAll), TWO_DIGITS)
    for (const [when = '', point] of [
      [coldestWhen, coldest],
      [warmestWhen, warmest],
    ] as const) {
      expect(wordsOf(when), what).to.include.members(timeWords(point, bucketMs, locale))
    }
  }

  /** Every row, whatever heads stand between them. */
  async function expectTable(page: Page, expectedOf: Expected) {
    const { what, points, bucketMs, ofCelsius } = expectedOf
    const table = page.getByRole('button', { name: 'Table' })
    if ((await table.getAttribute('aria-pressed')) === 'false') await table.click()
    await page.getByText(new RegExp(` of ${points.length}$`)).waitFor()
    const rows: number[][] = []
    const older = page.getByRole('button', { name: 'Older' })
    for (let isMore = true; isMore;) {
      const cells = await page.locator('tbody tr').evaluateAll((shown) => {
        return shown.map((row) =>
          Array.from(row.querySelectorAll('td'), (cell) => cell.textContent),
        )
      })
      rows.push(...cells.filter((row) => row.length > 0).map((row) => row.map(numberOf)))
      isMore = (await older.isVisible()) && (await older.isEnabled())
      if (isMore) await older.click()
    }
    const expected = points.toReversed().map(({ mean, min, max, count }) => {
      if (bucketMs === 0) return [ofCelsius(mean)]
      return [...[mean, min, max].map(ofCelsius), count]
    })
    expectNear(rows, expected, { within: TWO_DIGITS, what })
  }

  function expectNear(
    rows: readonly (readonly number[])[],
    expected: readonly (readonly number[])[],
    { within, what }: { within: number; what: string },
  ): void {
    expect(rows, what).to.have.length(expected.length)
    const wrong = expected.flatMap((numbers, at) => {
      const row = rows[at] ?? []
      const isNear = numbers.every((number, column) => {
        return Math.abs(number - (row[column] ?? NaN)) <= within
      })
      return isNear && row.length === numbers.length
        ? []
        : [`row ${at}: ${row.join()}, not ${numbers.join()}`]
    })
    expect(wrong, what).to.deep.equal([])
  }

  async function expectNoDataIn(page: Page, place: string, gap: Span | undefined): Promise<void> {
    if (gap === undefined) throw new Error('there is a gap')
    const ends = [gap.fromMs - 6 * HOUR_MS, gap.toMs + 6 * HOUR_MS]
    await walkTo(page, `${place}/${ends.map((atMs) => new Date(atMs).toISOString()).join('/')}`)
    const chart = page.locator('.u-over')
    const { width = 0 } = (await chart.boundingBox()) ?? {}
    await chart.hover({ position: { x: width / 2, y: 50 } })
    await page.locator('.readout', { hasText: 'No data' }).waitFor()
    await chart.hover({ position: { x: width / 10, y: 50 } })
    await page.locator('.readout', { hasText: 'Mean' }).waitFor()
    await page.mouse.move(0, 0)
  }
})
