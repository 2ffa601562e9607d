// Sends random bodies to the whole service, which runs as its own process because a fault may end
// it. Each story belongs to a new user: it sends some bodies, then one good measurement, and then
// checks that the user has exactly the sensors and measurements that the receipts promised. After a
// refused batch it does what a sender does: it sets the named elements aside and sends the rest,
// which must be accepted. test/http runs a few stories, test/faults many.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { anyBody, BATCH, showBody, SINGLE } from './any-json.ts'
import type { AnyBody } from './any-json.ts'
import { serve } from './command.ts'
import type { RunningService } from './command.ts'
import { createFleetToken } from './fleet-token.ts'
import { send, sendUnchecked } from './http.ts'
import type { TestAnswer } from './http.ts'
import { expectClean } from './verify.ts'

const SETTINGS = { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0', LOG_LEVEL: 'info' }
/** Who sends more may be cut off before it has read the answer, which is 413. */
const ANSWERED_BYTES_MAX = 4 * 1024 * 1024
const CUT_OFF = 413
const STORIES_TOGETHER = 20
const STORY_BODIES_MAX = 20
/** How long fast-check may look for a shorter story that fails too. */
const SHRINKING_MS_MAX = 15_000
const EVERYTHING = 'from=2009-12-31T00:00:00Z&to=2030-01-01T00:00:00Z&bucket=day'

interface Item {
  readonly sensor_id: number
  readonly status: string
}

/** Answers by status. */
export type Outcomes = ReadonlyMap<number, number>

/**
 * Sends at least that many bodies.
 *
 * @throws Error with the seed and the shortest failing story found in the time allowed
 */
export async function sendAnyBodies(bodiesMin: number): Promise<Outcomes> {
  const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-any-json-'))
  const outcomes = new Map<number, number>()
  const real = new LivingService(dataDir)
  try {
    for (let sent = 0; sent < bodiesMin; sent = sum(outcomes)) await assertStories(real, outcomes)
    await real.stop()
    expect(await expectClean(dataDir)).to.equal(real.created)
  } finally {
    await real.stop()
    await rm(dataDir, { recursive: true })
  }
  return outcomes
}

async function assertStories(real: LivingService, outcomes: Map<number, number>): Promise<void> {
  let deadlineMs = Infinity
  const stories = fc.array(anyBody, { minLength: 1, maxLength: STORY_BODIES_MAX, size: 'max' })
  const property = fc.asyncProperty(stories, async (bodies) => {
    if (performance.now() > deadlineMs) return
    try {
      const created = await new Story(await real.newSender()).tell(bodies, outcomes)
      real.created += created
    } catch (error) {
      deadlineMs = Math.min(deadlineMs, performance.now() + SHRINKING_MS_MAX)
      throw error
    }
  })
  const reporter = (details: fc.RunDetails<[AnyBody[]]>) => {
    if (!details.failed) return
    const bodies = details.counterexample?.[0].map((body) => `\n  ${showBody(body)}`) ?? []
    const { seed, counterexamplePath, errorInstance } = details
    const where = `seed ${seed}, path ${counterexamplePath}`
    throw new Error(`${String(errorInstance)}\n${where}, sent:${bodies.join('')}`)
  }
  await fc.assert(property, {
    numRuns: STORIES_TOGETHER,
    asyncReporter: async (details) => reporter(details),
  })
}

interface Sender {
  readonly url: string
  readonly token: string
}

/** Restarts the service when a body has ended it, so that fast-check can shrink the story. */
class LivingService {
  readonly #dataDir: string
  #service: RunningService | undefined
  #users = 0
  /** Measurements created by all complete stories. */
  created = 0

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  async newSender(): Promise<Sender> {
    if (!(await this.#answers())) {
      await this.stop()
      this.#service = await serve(this.#dataDir, SETTINGS)
    }
    const { url = '' } = this.#service ?? {}
    const token = await createFleetToken(this.#dataDir, `user-${++this.#users}@example.org`)
    return { url, token }
  }

  async #answers(): Promise<boolean> {
    if (this.#service === undefined) return false
    const health = sendUnchecked(this.#service.url, { path: '/healthz' })
    return health.then(
      () => true,
      () => false,
    )
  }

  async stop(): Promise<void> {
    const service = this.#service
    this.#service = undefined
    await service?.stop()
  }
}

class Story {
  readonly #sender: Sender
  /** Measurements created, by sensor, according to the receipts. */
  readonly #created = new Map<number, number>()

  constructor(sender: Sender) {
    this.#sender = sender
  }

  /** @returns how many measurements it created */
  async tell(bodies: readonly AnyBody[], outcomes: Map<number, number>): Promise<number> {
    for (const body of bodies) {
      const status = await this.#send(body)
      outcomes.set(status, (outcomes.get(status) ?? 0) + 1)
    }
    const good = await this.#post(SINGLE, '{"event_id":"at the end","sn":"good","temp":1}')
    expect(good.status, good.text).to.equal(201)
    this.#note(good)
    expect(await this.#stored()).to.deep.equal(this.#created)
    return sum(this.#created)
  }

  /** @returns the status of the answer */
  async #send(body: AnyBody): Promise<number> {
    const { path, bytes, headers, text, isGood } = body
    const answer = await this.#post(path, bytes, headers).catch((cause: unknown) => {
      if (bytes.length > ANSWERED_BYTES_MAX) return undefined
      throw new Error(`${String(cause)}: no answer to ${showBody(body)}`, { cause })
    })
    if (answer === undefined) return CUT_OFF
    const place = `${answer.text.slice(0, 500)} to ${showBody(body)}`
    expect(answer.status, place).to.be.lessThan(500)
    if (isGood) expect(answer.status, place).to.be.oneOf([200, 201, 409])
    this.#note(answer)
    if (path === BATCH && answer.status === 422 && text !== undefined) {
      await this.#sendRest(text, answer, place)
    }
    return answer.status
  }

  /** Sends a refused batch again without the elements that the refusal names. */
  async #sendRest(text: string, { body }: TestAnswer, place: string): Promise<void> {
    const { errors } = body as { readonly errors: readonly { readonly index?: number }[] }
    const named = new Set(errors.map(({ index }) => index))
    // A fault of the batch itself leaves nothing to send again.
    if (named.has(undefined)) return
    const json = text.replace(/^\uFEFF/, '')
    const { measurements } = JSON.parse(json) as { readonly measurements: readonly unknown[] }
    const rest = measurements.filter((_, index) => !named.has(index))
    if (rest.length === 0) return
    const again = await this.#post(BATCH, JSON.stringify({ measurements: rest }))
    expect(again.status, `the rest of ${place}: ${again.text.slice(0, 500)}`).to.be.oneOf([
      200, 201,
    ])
    this.#note(again)
  }

  #post(
    path: string,
    body: string | Buffer,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<TestAnswer> {
    const { url, token } = this.#sender
    return send(url, { method: 'POST', path, token, body, headers })
  }

  #note({ status, body }: TestAnswer): void {
    if (status >= 300) return
    const data = body.data as Item & { readonly measurements?: readonly Item[] }
    for (const { sensor_id: id, status: outcome } of data.measurements ?? [data]) {
      if (outcome === 'created') this.#created.set(id, (this.#created.get(id) ?? 0) + 1)
    }
  }

  /** Measurements by sensor, counted in the history of every listed sensor. */
  async #stored(): Promise<Map<number, number>> {
    const { url, token } = this.#sender
    const { body } = await send(url, { path: '/api/v1/sensors', token })
    const stored = new Map<number, number>()
    for (const { id } of body.data as readonly { readonly id: number }[]) {
      const path = `/api/v1/sensors/${id}/measurements?${EVERYTHING}`
      const history = await send(url, { path, token })
      expect(history.body.data.complete, history.text.slice(0, 500)).to.equal(true)
      const points = history.body.data.points as readonly { readonly count: number }[]
      const count = points.reduce((total, point) => total + point.count, 0)
      stored.set(id, count)
    }
    return stored
  }
}

function sum(counts: ReadonlyMap<number, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0)
}
