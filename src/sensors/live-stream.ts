// The live events for one client. It holds only a position among the events of the user's watch: a
// client that reads slowly, or less than happens, finds the newest state of each sensor there.

import type { Clock } from '../ports/system.ts'
import type { SensorEventKind, SensorWatch } from './sensor-watch.ts'
import type { SensorState } from './sensors.ts'

export type LiveEvent =
  | { readonly id: string; readonly kind: SensorEventKind; readonly state: SensorState }
  /** Too much was missed: the client has to load its sensors again. */
  | { readonly id: string; readonly kind: 'reset' }

/** Events for a client in one piece; the next follow when it has read them. */
const EVENTS_AT_ONCE_MAX = 100

interface Hooks {
  readonly clock: Clock
  /** Called once, when the stream is over. */
  readonly onClosed: (stream: LiveStream) => void
}

export class LiveStream {
  readonly #watch: SensorWatch
  readonly #hooks: Hooks
  #position: number
  #mustReset: boolean
  #allowance = 0
  #waiting: PromiseWithResolvers<void> | undefined
  #lastTakenAtMs: number
  #isClosed = false

  /** @param lastEventId of the last event that the client has; `undefined`: it has none */
  constructor(watch: SensorWatch, lastEventId: string | undefined, hooks: Hooks) {
    const place = lastEventId === undefined ? watch.lastNo : placeOf(watch, lastEventId)
    this.#watch = watch
    this.#hooks = hooks
    this.#position = place ?? watch.lastNo
    this.#mustReset = place === undefined
    this.#lastTakenAtMs = hooks.clock.monotonicMs()
  }

  /** The id to resume from here; `undefined` if the client has to be told to reset first. */
  get lastEventId(): string | undefined {
    return this.#mustReset ? undefined : this.#idOf(this.#position)
  }

  /**
   * Some events: immediately if there are any; else what the next look finds, which may be nothing.
   * Call it again when these have been read.
   *
   * @returns `undefined` when the stream is over
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

  /** There was a look. @param allowance how many events the stream may have until the next one */
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
      this.#mustReset = false
      this.#position = this.#watch.lastNo
      return [{ id: this.#idOf(this.#position), kind: 'reset' }]
    }
    const countMax = Math.min(this.#allowance, EVENTS_AT_ONCE_MAX)
    const events = this.#watch.eventsAfter(this.#position, countMax)
    this.#allowance -= events.length
    this.#position = events.at(-1)?.no ?? this.#position
    return events.map(({ no, kind, state }) => ({ id: this.#idOf(no), kind, state }))
  }

  #idOf(no: number): string {
    return `${this.#watch.id}.${no}`
  }
}

/** The number in an id that was issued for events of this watch, else `undefined`. */
function placeOf(watch: SensorWatch, eventId: string): number | undefined {
  const [watchId, digits = '', ...more] = eventId.split('.')
  const isWellFormed = watchId === watch.id && /^\d{1,15}$/.test(digits) && more.length === 0
  const no = Number(digits)
  return isWellFormed && no >= watch.forgottenNo && no <= watch.lastNo ? no : undefined
}
