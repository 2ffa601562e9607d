// The live events for one client. It holds only a position among the events of the user's watch: a
// client that falls behind skips to the newest state of each sensor. An event's id is the cursor of
// changes up to which a client with that event has been told all: with it, the client goes on
// anywhere.

import type { Clock } from '../ports/system.ts'
import type { LiveEvent } from './live-event.ts'
import { withIds } from './sensor-watch.ts'
import type { SensorWatch, SubscriptionPlace } from './sensor-watch.ts'

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
  /** What it is to be told before the events of the watch. */
  #missed: readonly LiveEvent[]
  /** The number of the last event that it has of the watch. */
  #position: number
  /** Up to this one it has been sent all: a later event may stand for several. */
  #completeNo: number
  #lastEventId: string
  #mustReset: boolean
  #allowance = 0
  #waiting: PromiseWithResolvers<void> | undefined
  #lastTakenAtMs: number
  #isClosed = false

  /** @param place where the client continues; `undefined`: it has to reset */
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

  /** How many events it has yet to tell of those that its client missed. */
  get missed(): number {
    return this.#missed.length
  }

  /** The id to resume from here; `undefined` if the client has to be told to reset first. */
  get lastEventId(): string | undefined {
    return this.#mustReset ? undefined : this.#lastEventId
  }

  /**
   * Some events: immediately if there are any; else what the next look finds, which may be nothing.
   * Call it again when these have been read.
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

  /** There was a look. @param allowance how many events the client may have until the next one */
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
