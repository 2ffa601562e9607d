// How many answers of any length may be under way, of one user and of all: each keeps some of what
// it has read from the store until its client takes it. Further ones wait before they read
// anything, those of the user with the fewest under way first. While any waits, the answer in its
// way whose client is slowest is cut off every second, so nobody keeps others out by not reading.
// It is one of a user with more than an equal share, or of the user who waits.
//
// A small answer is sent in one piece and gives its place back, a longer one is streamed as fast as
// its client takes it, and keeps its place until then. If the store fails half way, the connection
// is cut: a body that ends normally is complete.

import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { postponedError } from '../../domain/errors.ts'
import type { ServiceError } from '../../domain/errors.ts'
import { smallAnswerBytesMax } from '../../domain/limits.ts'
import { SECOND_MS } from '../../domain/time.ts'
import type { Clock } from '../../ports/system.ts'
import { ClientGone } from '../call/call.ts'
import { Turns } from './turns.ts'

/** A client that we have waited for less than this is not slow yet. */
const SLOW_AFTER_MS = 5 * SECOND_MS
const CHECK_EVERY_MS = SECOND_MS

export interface LongAnswersLimits {
  readonly ofUserMax: number
  readonly ofAllMax: number
  /** Of all; beyond it, the last of the user with the most is refused. */
  readonly waitingMax: number
}

interface Waiting {
  readonly begin: () => void
  readonly refuse: (error: ServiceError) => void
}

export class LongAnswers {
  readonly #limits: LongAnswersLimits
  readonly #clock: Clock
  readonly #turns = new Turns()
  readonly #underWay = new Set<LongAnswer>()
  readonly #ofUsers = new Map<number, number>()
  /** By user; whose turn it was longest ago is first. */
  readonly #waiting = new Map<number, Waiting[]>()
  #checking: NodeJS.Timeout | undefined

  constructor(limits: LongAnswersLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /**
   * Waits for a place. End the answer when its client has taken it, or has gone.
   *
   * @throws ServiceError `overloaded` when too many wait
   */
  async begin(userId: number): Promise<LongAnswer> {
    if (!this.#hasPlace(userId)) await this.#wait(userId)
    const answer = new LongAnswer(userId, this.#clock, this.#turns, () => this.#end(answer))
    this.#underWay.add(answer)
    return answer
  }

  /** @returns whether there was a place: it is taken now */
  #hasPlace(userId: number): boolean {
    if (!this.#mayBegin(userId)) return false
    this.#ofUsers.set(userId, this.#countOf(userId) + 1)
    return true
  }

  #mayBegin(userId: number): boolean {
    return this.#isFree() && this.#countOf(userId) < this.#limits.ofUserMax
  }

  #isFree(): boolean {
    const taken = this.#ofUsers.values().reduce((sum, ofUser) => sum + ofUser, 0)
    return taken < this.#limits.ofAllMax
  }

  #countOf(userId: number): number {
    return this.#ofUsers.get(userId) ?? 0
  }

  #wait(userId: number): Promise<void> {
    this.#checking ??= setInterval(() => this.#cutSlowest(), CHECK_EVERY_MS).unref()
    return new Promise((begin, refuse) => {
      const ofUser = this.#waiting.get(userId) ?? []
      ofUser.push({ begin, refuse })
      this.#waiting.set(userId, ofUser)
      const waiting = this.#waiting.values().reduce((sum, { length }) => sum + length, 0)
      if (waiting > this.#limits.waitingMax) this.#refuseOne()
    })
  }

  #refuseOne(): void {
    const [userId, ofUser] = this.#waiting
      .entries()
      .reduce((most, one) => (one[1].length > most[1].length ? one : most))
    const last = ofUser.pop()
    if (ofUser.length === 0) this.#waiting.delete(userId)
    last?.refuse(postponedError('overloaded', { detail: 'Too many requests wait for an answer.' }))
  }

  #end(answer: LongAnswer): void {
    if (!this.#underWay.delete(answer)) return
    const left = this.#countOf(answer.userId) - 1
    if (left > 0) this.#ofUsers.set(answer.userId, left)
    else this.#ofUsers.delete(answer.userId)
    this.#beginNext()
  }

  #beginNext(): void {
    if (!this.#isFree()) return
    let next: number | undefined
    for (const userId of this.#waiting.keys()) {
      if (next === undefined || this.#countOf(userId) < this.#countOf(next)) next = userId
    }
    if (next === undefined || !this.#hasPlace(next)) return
    const [first, ...others] = this.#waiting.get(next) ?? []
    this.#waiting.delete(next)
    if (others.length > 0) this.#waiting.set(next, others)
    first?.begin()
  }

  #cutSlowest(): void {
    if (this.#waiting.size === 0) {
      clearInterval(this.#checking)
      this.#checking = undefined
      return
    }
    const users = new Set([...this.#ofUsers.keys(), ...this.#waiting.keys()])
    const share = this.#limits.ofAllMax / users.size
    let slowest: LongAnswer | undefined
    for (const answer of this.#underWay) {
      if (answer.awaitedMs < SLOW_AFTER_MS || !this.#isInTheWay(answer, share)) continue
      if (slowest === undefined || answer.rate < slowest.rate) slowest = answer
    }
    slowest?.cutOff()
  }

  /** @param share of the places, for each user */
  #isInTheWay({ userId }: LongAnswer, share: number): boolean {
    const ofUser = this.#countOf(userId)
    if (this.#waiting.has(userId) && ofUser >= Math.min(share, this.#limits.ofUserMax)) return true
    return !this.#isFree() && ofUser > share
  }
}

/** An answer that is sent in pieces as its client takes them. */
export class LongAnswer {
  readonly userId: number
  readonly #clock: Clock
  readonly #turns: Turns
  readonly #onEnd: () => void
  #takenBytes = 0
  #awaitedMs = 0
  /** Since when its client has been waited for. */
  #sinceMs: number | undefined
  #cut: (() => void) | undefined

  constructor(userId: number, clock: Clock, turns: Turns, onEnd: () => void) {
    this.userId = userId
    this.#clock = clock
    this.#turns = turns
    this.#onEnd = onEnd
  }

  /** How long its client has been waited for, all in all: not while the client waits for us. */
  get awaitedMs(): number {
    const nowMs = this.#clock.monotonicMs()
    return this.#awaitedMs + (nowMs - (this.#sinceMs ?? nowMs))
  }

  /** Bytes a millisecond that its client takes. */
  get rate(): number {
    return this.#takenBytes / Math.max(1, this.awaitedMs)
  }

  /** @param cut ends the response, which stays incomplete */
  async *piecesOf(pieces: AsyncIterable<Buffer>, cut: () => void): AsyncIterable<Buffer> {
    this.#cut = cut
    for await (const piece of pieces) {
      this.#sinceMs = this.#clock.monotonicMs()
      yield piece
      this.#awaitedMs = this.awaitedMs
      this.#sinceMs = undefined
      this.#takenBytes += piece.length
      await this.turn()
    }
  }

  /** Lets all others do what they have to, before the next part of the answer is made. */
  turn(): Promise<void> {
    return this.#turns.next()
  }

  cutOff(): void {
    this.#cut?.()
    this.end()
  }

  end(): void {
    this.#onEnd()
  }
}

/**
 * Responds with a text, streamed if it is long.
 *
 * @param read sets the headers. @returns the whole text, in order
 * @throws ClientGone
 */
export async function answerInPieces(
  ctx: Context,
  longAnswers: LongAnswers,
  userId: number,
  read: () => Promise<AsyncIterable<Buffer>>,
): Promise<void> {
  const answer = await longAnswers.begin(userId)
  try {
    if (ctx.req.socket.destroyed) throw new ClientGone()
    const pieces = await read()
    const body = await bodyOf(ctx, answer, pieces[Symbol.asyncIterator]())
    ctx.status = 200
    if (body !== undefined) ctx.body = body
  } finally {
    if (ctx.body instanceof Readable && !ctx.res.closed) ctx.res.once('close', () => answer.end())
    else answer.end()
  }
}

async function bodyOf(
  ctx: Context,
  answer: LongAnswer,
  unread: AsyncIterator<Buffer>,
): Promise<Buffer | Readable | undefined> {
  const { start, isWhole } = await gather(unread)
  if (isWhole) return start
  if (ctx.method === 'HEAD') {
    await unread.return?.()
    ctx.res.removeHeader('Content-Length')
    return undefined
  }
  const cut = () => ctx.res.destroy()
  // One piece is enough to buffer while waiting for the client.
  const stream = Readable.from(answer.piecesOf(resume(start, unread), cut), { highWaterMark: 1 })
  stream.once('close', () => void unread.return?.())
  // Errors do not pass through a compressor by themselves.
  stream.once('error', cut)
  return stream
}

/** Reads until it is more than a small answer. */
async function gather(unread: AsyncIterator<Buffer>): Promise<{ start: Buffer; isWhole: boolean }> {
  const gathered: Buffer[] = []
  let bytes = 0
  while (bytes <= smallAnswerBytesMax) {
    const next = await unread.next()
    if (next.done === true) return { start: Buffer.concat(gathered), isWhole: true }
    gathered.push(next.value)
    bytes += next.value.length
  }
  return { start: Buffer.concat(gathered), isWhole: false }
}

async function* resume(start: Buffer, unread: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  yield start
  for (let next = await unread.next(); next.done !== true; next = await unread.next()) {
    if (next.value.length > 0) yield next.value
  }
}
