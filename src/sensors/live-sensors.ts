// Tracks which clients listen to which users' sensors. About once a second it looks for changes to
// the sensors of those users; the write path is not involved, and without listeners nothing is
// read. Looking takes at most a twentieth of the time: the more there is to look at, the rarer the
// looks. Tokens are checked once a second, separately.
//
// Everything is bounded: subscriptions per token, per user and in total, their events together, and
// the sensors in memory. The events that clients missed take no more memory than the sensors of
// their user: a client for which there is no room has to reset.

import { setImmediate as letOthers } from 'node:timers/promises'
import { ServiceError } from '../domain/errors.ts'
import { SECOND_MS } from '../domain/time.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { Clock, Log } from '../ports/system.ts'
import { Subscription } from './subscription.ts'
import { SensorWatch } from './sensor-watch.ts'
import type { SensorWatchSettings, SubscriptionPlace } from './sensor-watch.ts'

const LOOK_EVERY_MS_MAX = 10 * SECOND_MS
/** Looking may take one part in this many of the time. */
const LOOKING_SHARE = 20

const RETRY_AFTER_SECONDS = 60

export interface LiveSensorsSettings extends SensorWatchSettings {
  readonly lookEveryMs: number
  readonly checkTokensEveryMs: number
  readonly subscriptionsMax: number
  readonly subscriptionsPerTokenMax: number
  readonly subscriptionsPerUserMax: number
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

/** What a client subscribes to. */
export interface SubscriptionRequest {
  readonly userId: number
  readonly tokenId: number
  /** Id of the client's last event; `undefined`: it starts from now. */
  readonly lastEventId: string | undefined
  /** Whether the token is still valid. Rejects if that cannot be found out now. */
  readonly isAllowed: () => Promise<boolean>
  /**
   * Called when the token has ended, or the client has read nothing for long: the subscription is
   * over, and its client to be cut off if it does not read.
   */
  readonly onEnded: () => void
}

/** A watch and its listeners. */
interface Audience {
  readonly userId: number
  readonly watch: SensorWatch
  readonly subscriptions: Map<Subscription, SubscriptionRequest>
  /** Subscriptions, including those about to open. */
  members: number
}

export class LiveSensors {
  readonly #with: Collaborators
  readonly #settings: LiveSensorsSettings
  readonly #audiences = new Map<number, Audience>()
  readonly #subscriptionsOfToken = new Map<number, number>()
  #subscriptions = 0
  #timer: NodeJS.Timeout | undefined
  #tokenTimer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(collaborators: Collaborators, settings: LiveSensorsSettings) {
    this.#with = collaborators
    this.#settings = settings
  }

  /** Open subscriptions. */
  get subscriptions(): number {
    return this.#subscriptions
  }

  /**
   * Begins to report changes to the user's sensors to a client: from now on, or since the last
   * event that it has.
   *
   * @throws ServiceError `rate_limited` if the token or its user has too many subscriptions open
   * @throws ServiceError `overloaded` if all clients together do, or watch too many sensors
   * @throws ServiceError `shutting_down`
   */
  async open(request: SubscriptionRequest): Promise<Subscription> {
    this.#reserve(request)
    const audience = this.#join(request.userId)
    let place: SubscriptionPlace | undefined
    try {
      // With other listeners, the next look is due soon anyway.
      if (audience.subscriptions.size === 0) await audience.watch.look()
      const { lastEventId } = request
      place = audience.watch.end
      if (lastEventId !== undefined) place = await audience.watch.placeAfter(lastEventId)
      if (this.#isStopped) throw stopping()
      // A look has failed meanwhile: this subscription would never be served.
      if (this.#audiences.get(request.userId) !== audience) {
        throw tooMuch('overloaded', 'Sensors cannot be watched at the moment.')
      }
      if (place !== undefined && !hasRoomFor(place.missed.length, audience)) place = undefined
      if (!this.#hasRoom()) throw tooMuch('overloaded', 'Too many sensors are being watched.')
    } catch (error) {
      this.#leave(audience, request)
      throw error
    }
    const subscription = new Subscription(audience.watch, place, {
      clock: this.#with.clock,
      onClosed: (closed) => {
        audience.subscriptions.delete(closed)
        this.#leave(audience, request)
      },
    })
    audience.subscriptions.set(subscription, request)
    subscription.wake(this.#allowance)
    this.#lookLater(this.#settings.lookEveryMs)
    this.#checkTokensLater()
    return subscription
  }

  /** Ends all subscriptions and accepts no new ones. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    clearTimeout(this.#tokenTimer)
    for (const audience of this.#audiences.values()) this.#drop(audience)
  }

  /** How many events a subscription may have between two looks. */
  get #allowance(): number {
    return Math.ceil(this.#settings.eventsPerLookMax / Math.max(1, this.#subscriptions))
  }

  #reserve({ tokenId, userId }: SubscriptionRequest): void {
    const { subscriptionsMax, subscriptionsPerTokenMax, subscriptionsPerUserMax } = this.#settings
    if (this.#isStopped) throw stopping()
    const ofToken = this.#subscriptionsOfToken.get(tokenId) ?? 0
    if (ofToken >= subscriptionsPerTokenMax) {
      throw tooMuch('rate_limited', `The token has ${ofToken} event streams open; close one.`)
    }
    const ofUser = this.#audiences.get(userId)?.members ?? 0
    if (ofUser >= subscriptionsPerUserMax) {
      throw tooMuch('rate_limited', `The user has ${ofUser} event streams open; close one.`)
    }
    if (this.#subscriptions >= subscriptionsMax) {
      throw tooMuch('overloaded', 'Too many event streams are open.')
    }
    this.#subscriptions++
    this.#subscriptionsOfToken.set(tokenId, ofToken + 1)
  }

  #join(userId: number): Audience {
    const audience = this.#audiences.get(userId) ?? {
      userId,
      watch: new SensorWatch(userId, this.#with, this.#settings),
      subscriptions: new Map<Subscription, SubscriptionRequest>(),
      members: 0,
    }
    this.#audiences.set(userId, audience)
    audience.members++
    return audience
  }

  #leave(audience: Audience, { userId, tokenId }: SubscriptionRequest): void {
    const ofToken = this.#subscriptionsOfToken.get(tokenId) ?? 0
    if (ofToken > 1) this.#subscriptionsOfToken.set(tokenId, ofToken - 1)
    else this.#subscriptionsOfToken.delete(tokenId)
    this.#subscriptions--
    audience.members--
    const isLast = audience.members === 0 && this.#audiences.get(userId) === audience
    if (isLast) this.#audiences.delete(userId)
  }

  /** Ends the subscriptions of an audience and forgets it. */
  #drop(audience: Audience): void {
    this.#audiences.delete(audience.userId)
    for (const subscription of audience.subscriptions.keys()) subscription.close()
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
      if (audience.subscriptions.size === 0) continue
      await letOthers()
      const startedAtMs = clock.monotonicMs()
      await this.#lookFor(audience)
      spentMs += clock.monotonicMs() - startedAtMs
    }
    // Watched users have registered more sensors than memory has room for.
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
    for (const [subscription, { onEnded }] of audience.subscriptions) {
      if (subscription.isStalled(this.#settings.stallMsMax)) {
        subscription.close()
        onEnded()
      } else {
        subscription.wake(this.#allowance)
      }
    }
  }

  #checkTokensLater(): void {
    if (this.#isStopped || this.#subscriptions === 0) return
    const { checkTokensEveryMs } = this.#settings
    this.#tokenTimer ??= setTimeout(() => void this.#checkTokens(), checkTokensEveryMs)
  }

  /** Ends the subscriptions of ended tokens, with or without news, whether clients read or not. */
  async #checkTokens(): Promise<void> {
    const subscriptions = this.#audiences.values().flatMap((audience) => audience.subscriptions)
    const checks = subscriptions.map(async ([subscription, { isAllowed, onEnded }]) => {
      // Without an answer, the token counts as valid.
      if (await isAllowed().catch(() => true)) return
      subscription.close()
      onEnded()
    })
    // All at once, so that they share a look-up.
    await Promise.all(checks)
    this.#tokenTimer = undefined
    this.#checkTokensLater()
  }
}

function hasRoomFor(missed: number, { watch, subscriptions }: Audience): boolean {
  const kept = subscriptions.keys().reduce((sum, subscription) => sum + subscription.missed, 0)
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
