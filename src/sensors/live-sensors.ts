// Tracks which clients listen to which users' sensors. About once a second it looks for changes to
// the sensors of those users: the write path knows nothing of it, and without listeners nothing is
// looked at. Looking takes at most a twentieth of the time: with much to look at, looks become
// rarer. Whether their tokens still work is checked once a second, apart from that.
//
// Everything is bounded: streams per token, per user and in total, events of all streams together,
// sensors in memory. What clients have missed takes no more of it than the sensors of their user:
// who comes beyond that has to reset.

import { setImmediate as letOthers } from 'node:timers/promises'
import { ServiceError } from '../domain/errors.ts'
import { SECOND_MS } from '../domain/time.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { Clock, Log } from '../ports/system.ts'
import { LiveStream } from './live-stream.ts'
import { SensorWatch } from './sensor-watch.ts'
import type { SensorWatchSettings, StreamPlace } from './sensor-watch.ts'

const LOOK_EVERY_MS_MAX = 10 * SECOND_MS
/** Looking may take one part in this many of the time. */
const LOOKING_SHARE = 20

const RETRY_AFTER_SECONDS = 60

export interface LiveSensorsSettings extends SensorWatchSettings {
  readonly lookEveryMs: number
  readonly checkTokensEveryMs: number
  readonly eventStreamsMax: number
  readonly eventStreamsPerTokenMax: number
  readonly eventStreamsPerUserMax: number
  readonly eventsPerLookMax: number
  readonly watchedSensorsMax: number
  readonly stallMsMax: number
}

interface Collaborators {
  readonly control: ControlReader
  readonly cursorSecret: Uint8Array
  readonly clock: Clock
  readonly log: Log
}

/** What a client asks for. */
export interface StreamOrder {
  readonly userId: number
  readonly tokenId: number
  /** Id of the last event it has; `undefined`: it starts from now. */
  readonly lastEventId: string | undefined
  /** Whether the token still works. Rejects when that cannot be told now. */
  readonly isAllowed: () => Promise<boolean>
  /**
   * Called when the token has ended, or the client has read nothing for long: the stream is over,
   * and is to be cut off if the client does not read.
   */
  readonly onEnded: () => void
}

/** A watch and its listeners. */
interface Audience {
  readonly userId: number
  readonly watch: SensorWatch
  readonly streams: Map<LiveStream, StreamOrder>
  /** Streams, including those about to open. */
  members: number
}

export class LiveSensors {
  readonly #with: Collaborators
  readonly #settings: LiveSensorsSettings
  readonly #audiences = new Map<number, Audience>()
  readonly #streamsOfToken = new Map<number, number>()
  #streams = 0
  #timer: NodeJS.Timeout | undefined
  #tokenTimer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(collaborators: Collaborators, settings: LiveSensorsSettings) {
    this.#with = collaborators
    this.#settings = settings
  }

  /** Open streams. */
  get streams(): number {
    return this.#streams
  }

  /**
   * Begins to report changes to the user's sensors to a client: from now on, or since the last
   * event that it has.
   *
   * @throws ServiceError `rate_limited` if the token or its user has too many streams open
   * @throws ServiceError `overloaded` if all clients together do, or watch too many sensors
   * @throws ServiceError `shutting_down`
   */
  async open(order: StreamOrder): Promise<LiveStream> {
    this.#reserve(order)
    const audience = this.#join(order.userId)
    let place: StreamPlace | undefined
    try {
      // With other listeners, the next look is due soon anyway.
      if (audience.streams.size === 0) await audience.watch.look()
      const { lastEventId } = order
      place = audience.watch.end
      if (lastEventId !== undefined) place = await audience.watch.placeAfter(lastEventId)
      if (this.#isStopped) throw stopping()
      // A look has failed meanwhile: nobody would look for this stream any more.
      if (this.#audiences.get(order.userId) !== audience) {
        throw tooMuch('overloaded', 'Sensors cannot be watched at the moment.')
      }
      if (place !== undefined && !hasRoomFor(place.missed.length, audience)) place = undefined
      if (!this.#hasRoom()) throw tooMuch('overloaded', 'Too many sensors are being watched.')
    } catch (error) {
      this.#leave(audience, order)
      throw error
    }
    const stream = new LiveStream(audience.watch, place, {
      clock: this.#with.clock,
      onClosed: (closed) => {
        audience.streams.delete(closed)
        this.#leave(audience, order)
      },
    })
    audience.streams.set(stream, order)
    stream.wake(this.#allowance)
    this.#lookLater(this.#settings.lookEveryMs)
    this.#checkTokensLater()
    return stream
  }

  /** Ends all streams and accepts no new ones. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    clearTimeout(this.#tokenTimer)
    for (const audience of this.#audiences.values()) this.#drop(audience)
  }

  /** How many events a stream may have between two looks. */
  get #allowance(): number {
    return Math.ceil(this.#settings.eventsPerLookMax / Math.max(1, this.#streams))
  }

  #reserve({ tokenId, userId }: StreamOrder): void {
    const { eventStreamsMax, eventStreamsPerTokenMax, eventStreamsPerUserMax } = this.#settings
    if (this.#isStopped) throw stopping()
    const ofToken = this.#streamsOfToken.get(tokenId) ?? 0
    if (ofToken >= eventStreamsPerTokenMax) {
      throw tooMuch('rate_limited', `The token has ${ofToken} streams open; close one.`)
    }
    const ofUser = this.#audiences.get(userId)?.members ?? 0
    if (ofUser >= eventStreamsPerUserMax) {
      throw tooMuch('rate_limited', `The user has ${ofUser} streams open; close one.`)
    }
    if (this.#streams >= eventStreamsMax) throw tooMuch('overloaded', 'Too many streams are open.')
    this.#streams++
    this.#streamsOfToken.set(tokenId, ofToken + 1)
  }

  #join(userId: number): Audience {
    const audience = this.#audiences.get(userId) ?? {
      userId,
      watch: new SensorWatch(userId, this.#with, this.#settings),
      streams: new Map<LiveStream, StreamOrder>(),
      members: 0,
    }
    this.#audiences.set(userId, audience)
    audience.members++
    return audience
  }

  #leave(audience: Audience, { userId, tokenId }: StreamOrder): void {
    const ofToken = this.#streamsOfToken.get(tokenId) ?? 0
    if (ofToken > 1) this.#streamsOfToken.set(tokenId, ofToken - 1)
    else this.#streamsOfToken.delete(tokenId)
    this.#streams--
    audience.members--
    const isLast = audience.members === 0 && this.#audiences.get(userId) === audience
    if (isLast) this.#audiences.delete(userId)
  }

  /** Ends the streams of an audience and forgets it. */
  #drop(audience: Audience): void {
    this.#audiences.delete(audience.userId)
    for (const stream of audience.streams.keys()) stream.close()
  }

  #hasRoom(): boolean {
    let size = 0
    for (const { watch } of this.#audiences.values()) size += watch.size
    return size <= this.#settings.watchedSensorsMax
  }

  #lookLater(waitMs: number): void {
    if (this.#isStopped) return
    this.#timer ??= setTimeout(() => void this.#lookAround(), waitMs)
  }

  async #lookAround(): Promise<void> {
    const { clock } = this.#with
    let spentMs = 0
    for (const audience of this.#audiences.values()) {
      if (audience.streams.size === 0) continue
      await letOthers()
      const startedAtMs = clock.monotonicMs()
      await this.#lookFor(audience)
      spentMs += clock.monotonicMs() - startedAtMs
    }
    // Watched users have registered more sensors than memory may hold.
    if (!this.#hasRoom()) this.#drop(largestOf(this.#audiences.values()))
    this.#timer = undefined
    const waitMs = Math.max(this.#settings.lookEveryMs, (LOOKING_SHARE - 1) * spentMs)
    if (this.#audiences.size > 0) this.#lookLater(Math.min(waitMs, LOOK_EVERY_MS_MAX))
  }

  async #lookFor(audience: Audience): Promise<void> {
    try {
      await audience.watch.look()
    } catch (error) {
      this.#with.log.error('cannot look for news of sensors', { error: String(error) })
      this.#drop(audience)
    }
    for (const [stream, { onEnded }] of audience.streams) {
      if (stream.isStalled(this.#settings.stallMsMax)) {
        stream.close()
        onEnded()
      } else {
        stream.wake(this.#allowance)
      }
    }
  }

  #checkTokensLater(): void {
    if (this.#isStopped || this.#streams === 0) return
    const { checkTokensEveryMs } = this.#settings
    this.#tokenTimer ??= setTimeout(() => void this.#checkTokens(), checkTokensEveryMs)
  }

  /** Ends the streams of tokens that have ended, whether there is news and clients read or not. */
  async #checkTokens(): Promise<void> {
    const streams = this.#audiences.values().flatMap((audience) => audience.streams)
    const checks = streams.map(async ([stream, { isAllowed, onEnded }]) => {
      // Without an answer, nothing says that the token has ended.
      if (await isAllowed().catch(() => true)) return
      stream.close()
      onEnded()
    })
    // All at once, so that they share a look-up.
    await Promise.all(checks)
    this.#tokenTimer = undefined
    this.#checkTokensLater()
  }
}

function hasRoomFor(missed: number, { watch, streams }: Audience): boolean {
  const kept = streams.keys().reduce((sum, stream) => sum + stream.missed, 0)
  return kept === 0 || kept + missed <= watch.size
}

function largestOf(audiences: Iterable<Audience>): Audience {
  return [...audiences].reduce((one, other) => (other.watch.size > one.watch.size ? other : one))
}

function tooMuch(code: 'overloaded' | 'rate_limited', detail: string): ServiceError {
  return new ServiceError(code, { detail, retryAfterSeconds: RETRY_AFTER_SECONDS })
}

function stopping(): ServiceError {
  return new ServiceError('shutting_down', { retryAfterSeconds: 1 })
}
