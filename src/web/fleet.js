// The sensors' current state: read from the device, brought up to date by `GET /changes`, then kept
// current by the event stream. Without the stream, changes are polled every half minute; without a
// network, the last state stays, with its time.

import { nowMs } from './clock.js'
import { NoAnswer, Refused, get, isTrouble, request, session } from './api.js'
import { readEvents } from './event-stream.js'
import { findFleet, forgetChanged, keepFleet } from './kept.js'

/**
 * @import { Changes, Sensor, User } from './api.js'
 * @import { StreamEvent } from './event-stream.js'
 * @typedef {Sensor & { history_changed_from?: string | null }} ChangedSensor
 * @typedef {'connecting' | 'live' | 'polling' | 'offline'} Connection
 * @typedef {(changedId?: number, changedFromMs?: number) => void} Listener
 */

const POLL_MS = 30_000
const RETRY_MS = 1_000
const RETRY_MS_MAX = 30_000
const SYNC_MS_MAX = 20_000
/** A working stream sends something at least every 8 s. */
const SILENT_MS_MAX = 45_000
/** A hidden page stops listening after this time. */
const HIDDEN_MS_MAX = 60_000
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

  #cursor = ''
  /** @type {Promise<void>} */
  #syncing = Promise.resolve()
  /** Listeners, and from when each changed sensor's history differs for them. */
  #news = new News()
  /** @type {(error: Error) => void} */
  #onFailure
  #stopping = new AbortController()
  /** @type {AbortController | undefined} */
  #stream
  #lastEventId = ''
  #retryMs = RETRY_MS
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer

  /** @param {(error: Error) => void} onFailure called with errors that retrying cannot fix */
  constructor(onFailure) {
    this.#onFailure = onFailure
  }

  /**
   * @param {Listener} on called once a frame for every sensor that has changed; without an id: all;
   *   with the time from which histories differ, `undefined`: they do not
   */
  subscribe(on) {
    return this.#news.subscribe(on)
  }

  /** @returns {User | undefined} */
  get user() {
    return session()?.user
  }

  start() {
    const { signal } = this.#stopping
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let hiding
    const look = () => {
      clearTimeout(hiding)
      if (document.hidden) {
        hiding = setTimeout(() => this.#pause(), HIDDEN_MS_MAX)
        this.#save()
      } else if (this.#stream === undefined) this.#connect()
    }
    document.addEventListener('visibilitychange', look, { signal })
    globalThis.addEventListener('online', () => this.#connect(), { signal })
    globalThis.addEventListener('offline', () => this.#pause('offline'), { signal })
    globalThis.addEventListener('pagehide', () => this.#save(), { signal })
    const saving = setInterval(() => this.#save(), SAVE_MS)
    signal.addEventListener('abort', () => clearInterval(saving))
    void this.#open()
  }

  stop() {
    this.#stopping.abort()
    this.#pause()
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
    this.#connect()
    await this.#sync()
  }

  /** Keeps the current sensors; if they are not current, an older state is already kept. */
  #save() {
    const userId = this.user?.id
    if (this.asOfMs !== undefined || !this.isLoaded || userId === undefined) return
    const sensors = [...this.sensors.values()]
    keepFleet({ userId, cursor: this.#cursor, asOfMs: nowMs(), sensors })
  }

  /** Reads what has changed, one request at a time. */
  #sync() {
    this.#syncing = this.#syncing.then(() => this.#readChanges())
    return this.#syncing
  }

  async #readChanges() {
    const since = this.#cursor === '' ? '' : `?since=${encodeURIComponent(this.#cursor)}`
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(SYNC_MS_MAX)])
    try {
      this.#applyChanges(await get(`/changes${since}`, signal))
    } catch (error) {
      this.#fail(error)
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

  /** @param {Connection} [connection] */
  #pause(connection = this.connection) {
    clearTimeout(this.#timer)
    this.#stream?.abort()
    this.#stream = undefined
    this.#set(connection)
  }

  #connect() {
    this.#pause()
    if (this.#stopping.signal.aborted) return
    const stream = new AbortController()
    this.#stream = stream
    void this.#listenOn(stream.signal)
  }

  /** @param {AbortSignal} signal */
  async #listenOn(signal) {
    let delayMs = RETRY_MS
    try {
      await this.#listen(signal)
    } catch (error) {
      if (!signal.aborted) delayMs = await this.#delayAfter(error)
    }
    if (signal.aborted) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#connect(), delayMs)
  }

  /** @param {AbortSignal} signal */
  async #listen(signal) {
    const headers = {
      Accept: 'text/event-stream',
      ...(this.#lastEventId !== '' && { 'Last-Event-ID': this.#lastEventId }),
    }
    const response = await request('/events', { headers, signal, cache: 'no-store' })
    // A new stream does not report earlier changes.
    if (this.#lastEventId === '' || this.asOfMs !== undefined) await this.#sync()
    this.#set('live')
    for await (const event of readEvents(response)) {
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.#connect(), SILENT_MS_MAX)
      this.#retryMs = RETRY_MS
      this.#lastEventId = event.id
      if (event.data !== '') await this.#apply(event)
    }
  }

  /** @param {StreamEvent} event */
  #apply({ name, data }) {
    if (name === 'reset') return this.#sync()
    const { history_changed_from: from, ...sensor } = /** @type {ChangedSensor} */ (
      JSON.parse(data)
    )
    if (name === 'sensor_deleted') this.#delete(sensor.id)
    else this.#put(sensor)
    this.#news.tell(sensor.id, from ? Date.parse(from) : undefined)
    return undefined
  }

  /** How long to wait before opening the stream again. @param {unknown} error */
  async #delayAfter(error) {
    const isGone = error instanceof NoAnswer || !(error instanceof Refused)
    if (error instanceof Refused && error.status === 401) this.#fail(error)
    const isFirst = this.#retryMs === RETRY_MS
    this.#retryMs = Math.min(RETRY_MS_MAX, this.#retryMs * 2)
    // A stream may break while the service keeps running.
    if (isGone && isFirst && this.connection === 'live') return RETRY_MS
    if (this.#stopping.signal.aborted) return POLL_MS
    this.#set(isGone ? 'offline' : 'polling')
    await this.#sync()
    return isGone ? this.#retryMs : POLL_MS
  }

  /** @param {unknown} error */
  #fail(error) {
    if (error instanceof Error && error.name === 'AbortError') return
    if (isTrouble(error)) this.#set('offline')
    else if (error instanceof Error) this.#onFailure(error)
  }

  /** @param {Connection} connection */
  #set(connection) {
    if (this.connection === connection) return
    // Keeps the current state; an outdated one is already kept.
    if (connection === 'offline') this.#save()
    this.connection = connection
    if (connection === 'offline' && this.isLoaded) this.asOfMs ??= nowMs()
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
