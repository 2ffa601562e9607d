// The live events for one client. It holds only a position among the events of the user's watch: a
// client that falls behind skips to the newest state of each sensor. An event's id is a cursor of
// changes: a client with that event has been told everything up to there, and can resume from it in
// any process.

import type { Clock } from '../ports/system.ts'
import { withIds } from './sensor-watch.ts'
import type { LiveEvent, SensorWatch, SubscriptionPlace } from './sensor-watch.ts'

/** Events for a client in one piece; the next follow when it has read them. */
const EVENTS_AT_ONCE_MAX = 100

interface Hooks {
  readonly clock: Clock
  /** Called once, when the subscription is over. */
  readonly onClosed: (subscription: Subscription) => void
}

export class Subscription {
  readonly #watch: SensorWatch
  readonly #hooks: Hooks
  /** To be sent before the events of the watch. */
  #missed: readonly LiveEvent[]
  /** The number of the last event of the watch that was sent. */
  #position: number
  /** Up to this number everything was sent; a later event may stand for several. */
  #completeNo: number
  #lastEventId: string
  #mustReset: boolean
  #allowance = 0
  #waiting: PromiseWithResolvers<void> | undefined
  #lastTakenAtMs: number
  #isClosed = false

  /** @param place where the client continues; `undefined`: it has to reset first */
  constructor(watch: SensorWatch, place: SubscriptionPlace | undefined, hooks: Hooks) {
    const { no, id, missed } = place ?? watch.end
    this.#watch = watch
    this.#hooks = hooks
    this.#missed = missed
    this.#position = no
    this.#completeNo = no
    this.#lastEventId = id
    this.#mustReset = place === undefined
    this.#lastTakenAtMs = hooks.clock.monotonicMs()
  }

  /** How many missed events have yet to be sent. */
  get missed(): number {
    return this.#missed.length
  }

  /** The id to resume from here; `undefined` if the client has to reset first. */
  get lastEventId(): string | undefined {
    return this.#mustReset ? undefined : this.#lastEventId
  }

  /**
   * Returns some events: at once if there are any; otherwise what the next look finds, which may be
   * none. Call it again when the client has read these.
   *
   * @returns `undefined` when the subscription is over
   */
  async next(): Promise<readonly LiveEvent[] | undefined> {
    const events = this.#take()
    if (events.length > 0 || this.#isClosed) return this.#isClosed ? undefined : events
    this.#waiting = Promise.withResolvers<void>()
    await this.#waiting.promise
    this.#waiting = undefined
    this.#lastTakenAtMs = this.#hooks.clock.monotonicMs()
    return this.#isClosed ? undefined : this.#take()
  }

  /** Called after a look. @param allowance how many events may be sent until the next one */
  wake(allowance: number): void {
    this.#allowance = allowance
    this.#waiting?.resolve()
  }

  /** Whether the client has read nothing for this long. */
  isStalled(stallMsMax: number): boolean {
    if (this.#waiting !== undefined) return false
    return this.#hooks.clock.monotonicMs() - this.#lastTakenAtMs > stallMsMax
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#waiting?.resolve()
    this.#hooks.onClosed(this)
  }

  #take(): readonly LiveEvent[] {
    this.#lastTakenAtMs = this.#hooks.clock.monotonicMs()
    if (this.#mustReset || this.#position < this.#watch.forgottenNo) {
      const { no, id } = this.#watch.end
      this.#mustReset = false
      this.#missed = []
      this.#position = no
      this.#completeNo = no
      this.#lastEventId = id
      return [{ id, kind: 'reset' }]
    }
    const countMax = Math.min(this.#allowance, EVENTS_AT_ONCE_MAX)
    const events = this.#missed.length > 0 ? this.#takeMissed(countMax) : this.#takeNew(countMax)
    this.#allowance -= events.length
    this.#lastEventId = events.at(-1)?.id ?? this.#lastEventId
    return events
  }

  #takeNew(countMax: number): readonly LiveEvent[] {
    const events = this.#watch.eventsAfter(this.#position, countMax)
    const news = events.map((event) => this.#watch.toNews(event, this.#completeNo))
    this.#position = events.at(-1)?.no ?? this.#position
    const isComplete = events.length < countMax
    if (isComplete) this.#completeNo = this.#position
    return withIds(news, this.#lastEventId, isComplete ? this.#watch.end.id : this.#lastEventId)
  }

  #takeMissed(countMax: number): readonly LiveEvent[] {
    const events = this.#missed.slice(0, countMax)
    this.#missed = this.#missed.slice(countMax)
    return events
  }
}
