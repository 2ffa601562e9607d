// The sensors' current state: the dashboard's response, kept up to date by the event stream.
// Without the stream, the dashboard is polled every half minute (304 while nothing changes);
// without a network, the last response stays, with its time.

import { nowMs } from './clock.js'
import { NoAnswer, Refused, getOrKept, request } from './api.js'
import { readEvents } from './event-stream.js'

/**
 * @import { Dashboard, Sensor, User } from './api.js'
 * @import { StreamEvent } from './event-stream.js'
 * @typedef {Sensor & { history_changed_from?: string | null }} ChangedSensor
 * @typedef {'connecting' | 'live' | 'polling' | 'offline'} Connection
 */

const POLL_MS = 30_000
const RETRY_MS = 1_000
const RETRY_MS_MAX = 30_000
/** The service sends something every 15 s; a stream without it is dead. */
const SILENT_MS_MAX = 45_000
/** A hidden page stops listening after this time. */
const HIDDEN_MS_MAX = 60_000

export class Fleet {
  /** @type {Map<number, Sensor>} */
  sensors = new Map()
  /** @type {User | undefined} */
  user
  /** When the response was received, if it is not current. @type {number | undefined} */
  asOfMs
  /** @type {Connection} */
  connection = 'connecting'
  isLoaded = false

  /** @type {Set<(changedId?: number, changedFromMs?: number) => void>} */
  #listeners = new Set()
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
   * @param {(changedId?: number, changedFromMs?: number) => void} on called for every change;
   *   without an id: all; from when on histories differ, `undefined`: they do not
   */
  subscribe(on) {
    this.#listeners.add(on)
    return () => void this.#listeners.delete(on)
  }

  /** @returns {number} how many are online */
  get online() {
    return [...this.sensors.values()].filter(({ online }) => online).length
  }

  start() {
    const { signal } = this.#stopping
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let hiding
    const look = () => {
      clearTimeout(hiding)
      if (document.hidden) hiding = setTimeout(() => this.#pause(), HIDDEN_MS_MAX)
      else if (this.#stream === undefined) this.#connect()
    }
    document.addEventListener('visibilitychange', look, { signal })
    globalThis.addEventListener('online', () => this.#connect(), { signal })
    globalThis.addEventListener('offline', () => this.#pause('offline'), { signal })
    void this.#load()
    this.#connect()
  }

  stop() {
    this.#stopping.abort()
    this.#pause()
  }

  async #load() {
    try {
      /** @type {{ data: Dashboard, asOfMs: number | undefined }} */
      const { data, asOfMs } = await getOrKept('/dashboard', ['dashboard'], this.#stopping.signal)
      this.user = data.user
      this.asOfMs = asOfMs
      this.sensors = new Map(data.sensors.map((sensor) => [sensor.id, sensor]))
      this.isLoaded = true
      if (asOfMs !== undefined) this.connection = 'offline'
      this.#tell()
    } catch (error) {
      this.#fail(error)
    }
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
    // What happened between the first response and now is in neither.
    if (this.#lastEventId === '' || this.asOfMs !== undefined) await this.#load()
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
  async #apply({ name, data }) {
    if (name === 'reset') {
      await this.#load()
      return this.#tell(undefined, -Infinity)
    }
    const { history_changed_from: from, ...sensor } = /** @type {ChangedSensor} */ (
      JSON.parse(data)
    )
    if (name === 'sensor_deleted') this.sensors.delete(sensor.id)
    else this.sensors.set(sensor.id, sensor)
    this.#tell(sensor.id, from ? Date.parse(from) : undefined)
  }

  /** How long to wait before the stream is asked for again. @param {unknown} error */
  async #delayAfter(error) {
    const isGone = error instanceof NoAnswer || !(error instanceof Refused)
    if (error instanceof Refused && error.status === 401) this.#fail(error)
    this.#retryMs = Math.min(RETRY_MS_MAX, this.#retryMs * 2)
    if (isGone && this.connection === 'live') return RETRY_MS
    if (this.#stopping.signal.aborted) return POLL_MS
    this.#set(isGone ? 'offline' : 'polling')
    await this.#load()
    return isGone ? this.#retryMs : POLL_MS
  }

  /** @param {unknown} error */
  #fail(error) {
    if (error instanceof Error && error.name === 'AbortError') return
    if (error instanceof NoAnswer) this.#set('offline')
    else if (error instanceof Error) this.#onFailure(error)
  }

  /** @param {Connection} connection */
  #set(connection) {
    if (this.connection === connection) return
    this.connection = connection
    if (connection === 'offline') this.asOfMs ??= nowMs()
    this.#tell()
  }

  /** @param {number} [changedId] @param {number} [changedFromMs] */
  #tell(changedId, changedFromMs) {
    for (const listener of this.#listeners) listener(changedId, changedFromMs)
  }
}
