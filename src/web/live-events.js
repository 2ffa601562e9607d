// Live events, heard once for all tabs of a browser: over HTTP/1.1 it opens six connections to a
// service, and each endless response keeps one.
//
// One visible tab holds the response and passes on what it hears. A tab that begins asks who does;
// without an answer it holds one itself, and so does each that has heard nothing for a while: a tab
// may be killed or stopped without a word. Of two holders the greater id lets go. A hidden tab
// neither holds nor listens.

import { request, session } from './api.js'
import { monotonicMs } from './clock.js'
import { readEvents } from './event-stream.js'

/**
 * @typedef {{ readonly name: string, readonly data?: string }} News an event of the service, or
 *   `hello`: a response has begun, what changed before is not in it; `alive`: there is one;
 *   `lost`: there is none
 * @typedef {News & { readonly from: number }} Message or `ask`, `opening`, `bye`
 * @typedef {{
 *   readonly onBegin: () => void, readonly onNews: (news: News) => Promise<void>,
 * }} LiveListener `onBegin`: nothing has been heard for a while
 */

/** A response says something at least every 8 s. */
const SILENT_MS_MAX = 20_000
/** Other tabs answer within a few milliseconds. */
const ANSWER_MS = 150
/** Within this, another tab that asked has a response or has failed. */
const OPEN_MS = 2_000
/** A response that ends earlier is not asked for again so soon. */
const LIVED_MS = 10_000
const RETRY_MS = 1_000
const RETRY_MS_MAX = 30_000

export class LiveEvents {
  #listener
  #id = Math.random()
  /**
   * Open while the tab is visible: messages that a frozen tab does not take are kept for it.
   *
   * @type {BroadcastChannel | undefined}
   */
  #channel
  #stopping = new AbortController()
  /** @type {'away' | 'asking' | 'following' | 'holding'} */
  #role = 'away'
  /** Of the response that this tab holds. @type {AbortController | undefined} */
  #response
  #isOpen = false
  #retryMs = RETRY_MS
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer

  /** @param {LiveListener} listener */
  constructor(listener) {
    this.#listener = listener
  }

  start() {
    const { signal } = this.#stopping
    const look = () => (document.hidden ? this.#leave() : this.#begin())
    const beginAgain = () => {
      this.#leave()
      look()
    }
    document.addEventListener('visibilitychange', look, { signal })
    globalThis.addEventListener('online', beginAgain, { signal })
    globalThis.addEventListener('offline', beginAgain, { signal })
    globalThis.addEventListener('pagehide', () => this.#leave(), { signal })
    globalThis.addEventListener('pageshow', look, { signal })
    look()
  }

  stop() {
    this.#stopping.abort()
    this.#leave()
  }

  #begin() {
    if (this.#role !== 'away') return
    // Of tabs with the same files and user.
    this.#channel = new BroadcastChannel(`${import.meta.url} ${session()?.user.id}`)
    this.#channel.addEventListener('message', (/** @type {MessageEvent<Message>} */ { data }) =>
      this.#hear(data),
    )
    this.#ask()
    this.#listener.onBegin()
  }

  #leave() {
    if (this.#role === 'holding') this.#post({ name: 'bye' })
    this.#channel?.close()
    this.#channel = undefined
    this.#letGo()
    this.#role = 'away'
    clearTimeout(this.#timer)
  }

  #ask() {
    this.#role = 'asking'
    this.#post({ name: 'ask' })
    this.#next(ANSWER_MS, () => void this.#hold())
  }

  /** @param {Message} message from another tab */
  #hear({ from, ...news }) {
    if (news.name === 'ask') return this.#answer(from)
    const isHolding = this.#role === 'holding'
    if (news.name === 'bye') return isHolding ? undefined : this.#ask()
    if (isHolding && from > this.#id) return this.#answer(from)
    this.#letGo()
    this.#role = 'following'
    this.#next(SILENT_MS_MAX, () => this.#ask())
    if (news.name !== 'opening') void this.#listener.onNews(news)
  }

  /** @param {number} from who asks, or holds a response too */
  #answer(from) {
    if (this.#role === 'holding') this.#post({ name: this.#isOpen ? 'alive' : 'opening' })
    else if (this.#role === 'asking' && from < this.#id) this.#next(OPEN_MS, () => this.#ask())
  }

  #letGo() {
    this.#response?.abort()
    this.#response = undefined
    this.#isOpen = false
  }

  async #hold() {
    this.#role = 'holding'
    const response = new AbortController()
    this.#response = response
    const { signal } = response
    const waitForMore = () => this.#next(SILENT_MS_MAX, () => response.abort())
    const askedAtMs = monotonicMs()
    waitForMore()
    try {
      const headers = { Accept: 'text/event-stream' }
      const answer = await request('/events', { headers, signal, cache: 'no-store' })
      for await (const { name, data } of readEvents(answer)) {
        waitForMore()
        if (monotonicMs() - askedAtMs > LIVED_MS) this.#retryMs = RETRY_MS
        // The service says something at once, of which a proxy may pass on only the head.
        await this.#tell(this.#isOpen ? { name, data } : { name: 'hello' })
        this.#isOpen = this.#response === response
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error
    }
    // Else this tab has let go of it.
    if (this.#response === response) await this.#holdAgain(this.#isOpen && !signal.aborted)
  }

  /** @param {boolean} hasBroken a response may, while the service keeps running */
  async #holdAgain(hasBroken) {
    const delayMs = this.#retryMs
    this.#isOpen = false
    this.#retryMs = Math.min(RETRY_MS_MAX, 2 * delayMs)
    this.#next(delayMs, () => void this.#hold())
    if (!hasBroken || delayMs > RETRY_MS) await this.#tell({ name: 'lost' })
  }

  /** Here and in the other tabs. @param {News} news */
  #tell(news) {
    this.#post(news)
    return this.#listener.onNews(news)
  }

  /** @param {News} news */
  #post(news) {
    this.#channel?.postMessage({ ...news, from: this.#id })
  }

  /** One thing at a time is waited for. @param {number} afterMs @param {() => void} then */
  #next(afterMs, then) {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, afterMs)
  }
}
