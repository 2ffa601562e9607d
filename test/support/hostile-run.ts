// One user's hostile requests on several connections at once, until something is wrong with an
// answer or with the service.

import type { HostileRequests } from './hostile.ts'
import type { HostileRequest } from './hostile-request.ts'
import { HostileSender } from './hostile-sender.ts'

const CONNECTIONS = 8
const ANSWERED_MS_MAX = 60_000
const SHOWN_CHARACTERS_MAX = 200
const UNANSWERED_KEPT_MAX = 8
/** Batches that were to be stored whole or not at all, and are looked at in the end. */
const BATCHES_KEPT_MAX = 60

export interface HostileTokens {
  daemon: string
  mobile: string
}

/** A batch, and whether the service said that it refuses it. */
export interface HostileBatch {
  readonly eventIds: readonly string[]
  readonly isRefused: boolean
}

export interface HostileRunOrder {
  readonly url: string
  readonly requests: HostileRequests
  readonly tokens: HostileTokens
  readonly isAlive: () => boolean
  /** Signs in again: some requests end their own session. */
  readonly renewMobileToken: () => Promise<string>
}

export class HostileRun {
  readonly #order: HostileRunOrder
  readonly #sender: HostileSender
  readonly #underWay = new Map<number, HostileRequest>()
  /** The last ones without an answer: one of them may be what has ended the service. */
  readonly #unanswered: string[] = []
  #renewal: Promise<string> | undefined
  #next = 0
  #isClosed = false
  readonly batches: HostileBatch[] = []
  /** Answers by status; 0: the connection was closed without one. */
  readonly outcomes = new Map<number, number>()

  constructor(order: HostileRunOrder) {
    this.#order = order
    this.#sender = new HostileSender(order.url, CONNECTIONS)
  }

  /**
   * Sends on until it is over, however many were sent before.
   *
   * @throws Error for a 5xx that is not 503, for no answer, and when the service has ended
   */
  async send(isOver: (sent: number) => boolean): Promise<void> {
    const sendOn = async () => {
      while (!this.#isClosed && !isOver(this.#next)) await this.#sendOne(this.#next++)
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, sendOn))
  }

  /** For a failure: what may be its cause. */
  report(): string {
    const underWay = Array.from(this.#underWay, ([number, hostile]) => shown(number, hostile))
    return ['under way:', ...underWay, 'without an answer before:', ...this.#unanswered].join(
      '\n  ',
    )
  }

  /** Sends no more. */
  close(): void {
    this.#isClosed = true
    this.#sender.close()
  }

  async #sendOne(number: number): Promise<void> {
    const { requests, tokens, isAlive } = this.#order
    const hostile = requests.make(number, tokens)
    this.#underWay.set(number, hostile)
    const status = await this.#sender.send(hostile, ANSWERED_MS_MAX)
    if (!isAlive()) throw new Error('the service has ended')
    if (status !== undefined && status >= 500 && status !== 503) {
      throw new Error(`status ${status} for ${shown(number, hostile)}`)
    }
    this.#underWay.delete(number)
    if (status === undefined && hostile.manner !== 'cut off') {
      this.#unanswered.push(shown(number, hostile))
      if (this.#unanswered.length > UNANSWERED_KEPT_MAX) this.#unanswered.shift()
    }
    this.outcomes.set(status ?? 0, (this.outcomes.get(status ?? 0) ?? 0) + 1)
    this.#keep(hostile, status)
    if (status === 401 && hostile.token === 'mobile') await this.#renew()
  }

  #keep({ eventIds }: HostileRequest, status: number | undefined): void {
    const isRefused = status !== undefined && status >= 400 && status < 500
    if (eventIds === undefined || !(isRefused || status === undefined)) return
    if (this.batches.length < BATCHES_KEPT_MAX) this.batches.push({ eventIds, isRefused })
  }

  async #renew(): Promise<void> {
    const { tokens, renewMobileToken } = this.#order
    this.#renewal ??= renewMobileToken()
    tokens.mobile = await this.#renewal
    this.#renewal = undefined
  }
}

function shown(number: number, { what, method, path, headers, manner }: HostileRequest): string {
  const { authorization: _, ...others } = headers
  const cut = (text: string) => text.slice(0, SHOWN_CHARACTERS_MAX)
  const request = `${method} ${cut(path)} ${cut(JSON.stringify(others))}`
  return `request ${number}: ${cut(what)}: ${manner}, ${request}`
}
