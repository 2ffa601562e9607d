// Goal: the example app does what docs/mobile.md says of apps that work offline. Method: what it
// keeps is compared with what the service answers, after any changes. As a person does, it is used
// in test/faults/app.test.ts.

import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import type * as Exported from '../../examples/app.ts'
import { send } from '../support/http.ts'
import { BASE, startMobile } from '../support/mobile.ts'
import type { MobileTest } from '../support/mobile.ts'
import { Seeded } from '../support/seeded.ts'
import { until } from '../support/until.ts'

const APP = new URL('../../examples/app.ts', import.meta.url)
const DOCUMENT = new URL('../../docs/mobile.md', import.meta.url)
const ANA = 'ana@example.org'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const STEPS = 150

type AppModule = typeof Exported

describe('what the example app keeps', () => {
  const prepare = DatabaseSync.prototype.prepare
  const ran = new Set<string>()
  let app: AppModule

  before(async () => {
    process.env['APP_DB'] = ':memory:'
    DatabaseSync.prototype.prepare = function (statement) {
      ran.add(plain(statement))
      return prepare.call(this, statement)
    }
    app = (await import(APP.href)) as AppModule
  })

  after(() => {
    DatabaseSync.prototype.prepare = prepare
    delete process.env['APP_DB']
  })

  it('is what the service answers, by the statements of docs/mobile.md', async () => {
    const story = await Story.begin(app)
    for (let step = 0; step < STEPS; step++) {
      await story.change()
      if (step % 3 === 0) await story.compare()
    }
    await story.end()
    // Of what was shown enough had been kept.
    expect(story.keptCount).to.be.greaterThan(story.shownCount / 5)
    const written = await statements()
    expect(written.filter((statement) => !ran.has(statement))).to.deep.equal([])
  })

  it('is for the version that the service wants, or a newer one', () => {
    expect(app.isOlder('1.0.0', '1.0.0')).to.equal(false)
    expect(app.isOlder('1.9.0', '1.10.0')).to.equal(true)
    expect(app.isOlder('2.0.0', '1.10.0')).to.equal(false)
  })
})

const SERIES = [
  { bucket: 'hour', tz: 'UTC' },
  { bucket: '15min', tz: 'UTC' },
  { bucket: 'day', tz: 'Europe/Berlin' },
] as const

interface Identified {
  readonly id: number
}

/** The app beside a service in which anything changes. */
class Story {
  readonly #app: AppModule
  readonly #mobile: MobileTest
  readonly #token: string
  readonly #seeded = new Seeded(46)
  #cursor = ''
  shownCount = 0
  keptCount = 0

  private constructor(app: AppModule, mobile: MobileTest, token: string) {
    this.#app = app
    this.#mobile = mobile
    this.#token = token
  }

  static async begin(app: AppModule): Promise<Story> {
    const mobile = await startMobile({ ALLOW_SIGN_UP: 'true', LOG_LEVEL: 'warn' })
    app.begin(mobile.service.url, 1)
    return new Story(app, mobile, await mobile.tokenOf())
  }

  async change(): Promise<void> {
    const { clock } = this.#mobile.service
    const lateMs = this.#seeded.isOneIn(8) ? this.#seeded.below(3 * DAY_MS) : 0
    const timestamp = new Date(clock.nowMs() - lateMs).toISOString()
    const measurement = { sn: `s${this.#seeded.below(3)}`, temp: this.#seeded.below(40), timestamp }
    await this.#mobile.submit(ANA, { measurements: [measurement] })
    clock.advanceMs(this.#seeded.below(HOUR_MS))
    if (!this.#seeded.isOneIn(30)) return
    const { id } = this.#seeded.one<Identified>(await this.#get('/sensors'))
    const { operations, url } = this.#mobile.service
    if (this.#seeded.isOneIn(3)) {
      await operations.run('sensor delete', { id: String(id) })
      return
    }
    const body = { compensation: this.#seeded.below(5) }
    await send(url, { method: 'PATCH', path: `${BASE}/sensors/${id}`, token: this.#token, body })
  }

  /** Catches up, asks for what is not kept of a chart, and looks whether it is right. */
  async compare(): Promise<void> {
    const changes = await this.#get(`/changes${this.#cursor}`)
    this.#cursor = `?since=${changes.cursor}`
    const nowMs = this.#mobile.service.clock.nowMs()
    this.#app.apply(changes, nowMs)
    const sensors = await this.#get('/sensors')
    if (sensors.length === 0) return
    const { id } = this.#seeded.one<Identified>(sensors)
    const series = { sensor_id: id, ...this.#seeded.one(SERIES) }
    const all = await this.#history(series, nowMs - this.#seeded.below(4 * DAY_MS) - 1, nowMs)
    const shown = { from_ms: Date.parse(all.from), to_ms: Date.parse(all.to) }
    const knownUntilMs = this.#app.knownUntilMs(series, shown)
    if (knownUntilMs < shown.to_ms) {
      this.#app.keep(series, await this.#history(series, knownUntilMs, shown.to_ms))
    }
    const kept = this.#app.keptPoints(series, shown).map(({ from_ms, to_ms, temp, min, max }) => {
      return { from_ms, to_ms, temp, min, max }
    })
    const answered = this.#app.pointsOf(all).filter(({ temp }) => temp !== null)
    expect(kept).to.deep.equal(answered)
    this.shownCount += answered.length
    this.keptCount += answered.filter(({ to_ms }) => to_ms <= knownUntilMs).length
  }

  end(): Promise<void> {
    return this.#mobile.stop()
  }

  async #get(path: string) {
    return (await this.#mobile.get(path, this.#token)).body.data
  }

  async #history(series: Exported.Series, fromMs: number, toMs: number) {
    const { sensor_id, bucket, tz } = series
    const [from, to] = [fromMs, toMs].map((atMs) => new Date(atMs).toISOString())
    const zone = tz === 'UTC' ? '' : `&tz=${tz}`
    const query = `from=${from}&to=${to}&bucket=${bucket}${zone}&fill=null`
    let history: Exported.History | undefined
    await until('the history is complete', async () => {
      history = await this.#get(`/sensors/${sensor_id}/measurements?${query}`)
      return history?.complete === true
    })
    return history as unknown as Exported.History
  }
}

/** Those of the document, but for the tables. */
async function statements(): Promise<string[]> {
  const document = await readFile(DOCUMENT, 'utf8')
  const blocks = Array.from(document.matchAll(/```sql\n(.*?)```/gs), ([, text = '']) => text)
  const texts = blocks
    .join('')
    .replace(/^--.*$/gm, '')
    .split(';')
    .map(plain)
  return texts.filter((text) => text !== '' && !text.startsWith('CREATE'))
}

function plain(statement: string): string {
  return statement.replace(/\s+/g, ' ').trim()
}
