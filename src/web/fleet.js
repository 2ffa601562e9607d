// The sensors' current state: read from the device, brought up to date by `GET /changes`, then kept
// current by live events. Without these, changes are polled every half minute; without a service,
// the last state stays, with its time.

import { monotonicMs, nowMs, onCorrection, onDoubt } from './clock.js'
import { Refused, get, session } from './api.js'
import { findFleet, forgetChanged, keepFleet } from './kept.js'
import { LiveEvents } from './live-events.js'

/**
 * @import { Changes, Sensor, User } from './api.js'
 * @import { News as LiveNews } from './live-events.js'
 * @typedef {Sensor & { history_changed_from?: string | null }} ChangedSensor
 * @typedef {'connecting' | 'live' | 'polling' | 'unreachable' | 'offline'} Connection
 * @typedef {(changedId?: number, changedFromMs?: number) => void} Listener
 */

/** Events wait so long after a failure: not every one asks again. */
const REST_MS = 5_000
const SAVE_MS = 60_000

export class Fleet {
  /** @type {Map<number, Sensor>} */
  sensors = new Map()
  online = 0
  /** The time of the sensors' state, if it is not current. @type {number | undefined} */
  asOfMs
  /** @type {Connection} */
  connection = 'connecting'
  isLoaded = false
  /** Whose sensors these are. @type {User | undefined} */
  user = session()?.user

  #cursor = ''
  /** @type {Promise<unknown>} */
  #acting = Promise.resolve()
  /** Listeners, and from when each changed sensor's history differs for them. */
  #news = new News()
  #onSignedOut
  #onHello
  /** In milliseconds of this page. */
  #restUntilMs = 0
  /** When the service was heard last. */
  #heardAtMs = 0
  #stopping = new AbortController()
  #live = new LiveEvents({
    onBegin: () => this.#begin(),
    onNews: async (news) => void (await this.#inTurn(() => this.#take(news))),
  })

  /**
   * @param {() => void} onSignedOut called when the session has ended
   * @param {() => void} onHello called when live events begin
   */
  constructor(onSignedOut, onHello) {
    this.#onSignedOut = onSignedOut
    this.#onHello = onHello
  }

  /**
   * @param {Listener} on called once a frame for every sensor that has changed; without an id: all;
   *   with the time from which histories differ, `undefined`: they do not
   */
  subscribe(on) {
    return this.#news.subscribe(on)
  }

  /** Whether nothing is heard from the service. */
  get isLost() {
    return this.connection === 'offline' || this.connection === 'unreachable'
  }

  start() {
    const { signal } = this.#stopping
    const save = () => this.#save()
    document.addEventListener('visibilitychange', save, { signal })
    globalThis.addEventListener('pagehide', save, { signal })
    const saving = setInterval(save, SAVE_MS)
    signal.addEventListener('abort', () => clearInterval(saving))
    onCorrection(() => this.#news.tell(), signal)
    onDoubt(() => void this.#inTurn(() => this.#readChanges()), signal)
    void this.#open()
  }

  stop() {
    this.#stopping.abort()
    this.#live.stop()
  }

  /** Takes a sensor from the response to a change. @param {Sensor} sensor */
  learn(sensor) {
    this.#put(sensor)
    this.#news.tell(sensor.id)
  }

  /** Shows what is kept while newer changes are on their way. */
  async #open() {
    const kept = await findFleet()
    if (kept !== undefined && kept.userId === this.user?.id) {
      this.#replace(kept.sensors)
      this.#cursor = kept.cursor
      this.asOfMs = kept.asOfMs
      this.#news.tell()
    }
    if (this.#stopping.signal.aborted) return
    this.#live.start()
    // A hidden page listens to nothing, but has something to show at once.
    if (document.hidden) await this.#inTurn(() => this.#readChanges())
  }

  /** After some time in which nothing was heard. */
  #begin() {
    this.#doubt()
    void this.#inTurn(() => this.#readChanges())
  }

  /** Whether the state is current is not known until somebody has asked. */
  #doubt() {
    if (this.connection === 'live') this.#set('connecting')
  }

  /** Keeps the current sensors; if they are not current, an older state is already kept. */
  #save() {
    const userId = session()?.user.id
    // Another tab may have signed in somebody else.
    const isOwn = userId !== undefined && userId === this.user?.id
    if (this.asOfMs !== undefined || !this.isLoaded || !isOwn) return
    const sensors = [...this.sensors.values()]
    keepFleet({ userId, cursor: this.#cursor, asOfMs: nowMs(), sensors })
  }

  /**
   * One at a time, so that no older state replaces a newer one.
   *
   * @param {() => unknown} act
   */
  #inTurn(act) {
    const acted = this.#acting.then(() => (this.#stopping.signal.aborted ? undefined : act()))
    this.#acting = Promise.allSettled([acted])
    return acted
  }

  /** @returns {Promise<boolean>} whether all that has changed is known */
  async #readChanges() {
    const since = this.#cursor === '' ? '' : `?since=${encodeURIComponent(this.#cursor)}`
    try {
      this.#applyChanges(await get(`/changes${since}`, this.#stopping.signal))
      this.#restUntilMs = 0
      this.#heardAtMs = nowMs()
      return true
    } catch (error) {
      this.#fail(error)
      return false
    }
  }

  /** @param {Changes} changes */
  #applyChanges(changes) {
    if (this.#stopping.signal.aborted) return
    if (changes.reset) this.#replace(changes.sensors)
    for (const sensor of changes.sensors) this.#put(sensor)
    for (const id of changes.deleted) this.#delete(id)
    this.#cursor = changes.cursor
    this.asOfMs = undefined
    this.isLoaded = true
    this.#save()
    void forgetChanged(changes)
    this.#news.tell(undefined, changes.reset ? -Infinity : undefined)
    for (const { sensor_id: id, from } of changes.histories) {
      this.#news.tell(id, from === null ? -Infinity : Date.parse(from))
    }
  }

  /** @param {readonly Sensor[]} sensors */
  #replace(sensors) {
    this.sensors = new Map()
    this.online = 0
    for (const sensor of sensors) this.#put(sensor)
    this.isLoaded = true
  }

  /** @param {Sensor} sensor */
  #put(sensor) {
    const before = this.sensors.get(sensor.id)
    this.online += Number(sensor.online) - Number(before?.online ?? false)
    this.sensors.set(sensor.id, sensor)
  }

  /** @param {number} id */
  #delete(id) {
    this.online -= Number(this.sensors.get(id)?.online ?? false)
    this.sensors.delete(id)
  }

  /** @param {LiveNews} news */
  async #take({ name, data }) {
    if (name === 'lost') {
      this.#doubt()
      if (await this.#readChanges()) this.#set('polling')
      return
    }
    this.#heardAtMs = nowMs()
    if (name === 'hello' || name === 'reset' || this.connection !== 'live') {
      if (name !== 'hello' && monotonicMs() < this.#restUntilMs) return
      if (await this.#readChanges()) this.#set('live')
      if (name === 'hello') this.#onHello()
    } else if (data) this.#apply(name, data)
  }

  /** @param {string} name @param {string} data */
  #apply(name, data) {
    const { history_changed_from: from, ...sensor } = /** @type {ChangedSensor} */ (
      JSON.parse(data)
    )
    if (name === 'sensor_deleted') this.#delete(sensor.id)
    else this.#put(sensor)
    this.#news.tell(sensor.id, from ? Date.parse(from) : undefined)
  }

  /** @param {unknown} error */
  #fail(error) {
    if (error instanceof Error && error.name === 'AbortError') return
    if (error instanceof Refused && error.status === 401) this.#onSignedOut()
    else {
      this.#restUntilMs = monotonicMs() + REST_MS
      this.#set(navigator.onLine ? 'unreachable' : 'offline')
    }
  }

  /** @param {Connection} connection */
  #set(connection) {
    if (this.connection === connection) return
    this.connection = connection
    // Keeps the current state; an outdated one is already kept.
    if (this.isLost) this.#save()
    if (this.isLost && this.isLoaded) this.asOfMs ??= this.#heardAtMs
    this.#news.tell()
  }
}

/** Changes gathered until the next frame: a screen cannot show more of them. */
class News {
  /** @type {Set<Listener>} */
  #listeners = new Set()
  /** @type {Map<number | undefined, number | undefined>} */
  #changedFromMs = new Map()
  #frame = 0

  /** @param {Listener} on */
  subscribe(on) {
    this.#listeners.add(on)
    return () => void this.#listeners.delete(on)
  }

  /** @param {number} [id] @param {number} [fromMs] */
  tell(id, fromMs) {
    const before = this.#changedFromMs.get(id)
    const earliest = Math.min(before ?? Infinity, fromMs ?? Infinity)
    this.#changedFromMs.set(id, earliest < Infinity ? earliest : undefined)
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#spread())
  }

  #spread() {
    const changed = this.#changedFromMs
    this.#changedFromMs = new Map()
    this.#frame = 0
    for (const listener of this.#listeners) {
      for (const [id, fromMs] of changed) listener(id, fromMs)
    }
  }
}
