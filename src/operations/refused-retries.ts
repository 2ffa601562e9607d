// Retries what was refused because the clock was behind, as that of a machine without a battery is
// after its start, when it has been set: once, a minute after. Whatever else was refused as ahead
// waits for an operator: whoever sends local time as UTC is ahead for ever.

import { MINUTE_MS } from '../domain/time.ts'
import type { AheadRefused } from '../ports/refused.ts'
import type { Log } from '../ports/system.ts'
import type { LineNames } from './read-refused.ts'
import { newestRefusedId, retryAhead } from './refused.ts'
import type { RefusedCollaborators } from './refused.ts'

/** After what could not be decided. */
const AGAIN_MS = MINUTE_MS

interface Collaborators extends RefusedCollaborators {
  readonly pause: (durationMs: number, signal: AbortSignal) => Promise<void>
  readonly log: Log
}

interface Settings extends LineNames {
  readonly futureMsMax: number
}

/** What was refused between two moves of the clock. */
interface Period {
  readonly afterId: number
  readonly throughId: number
  /** By how much the clock was behind then, as it is believed now. */
  readonly behindMs: number
}

/** Of a clock that is moved all the time, the last ones. */
const PERIODS_MAX = 100

export class RefusedRetries {
  readonly #with: Collaborators
  readonly #settings: Settings
  readonly #stopping = new AbortController()
  #periods: readonly Period[] = []
  /** The newest entry at the start, or when the clock was last moved. */
  #lastId = 0
  #underWay: Promise<void> = Promise.resolve()

  constructor(collaborators: Collaborators, settings: Settings) {
    this.#with = collaborators
    this.#settings = settings
  }

  /** What was refused before is left to operators. Call it before anything is accepted. */
  async start(): Promise<void> {
    this.#lastId = await newestRefusedId(this.#with.control)
  }

  /**
   * Retries what would not have been refused, had the clock been right.
   *
   * @param byMs how far the clock was moved ahead, or back
   */
  noteMoved(byMs: number): Promise<void> {
    this.#underWay = this.#underWay.then(() => this.#afterMove(byMs))
    return this.#underWay
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#underWay
  }

  async #afterMove(byMs: number): Promise<void> {
    const afterId = this.#lastId
    this.#lastId = await newestRefusedId(this.#with.control)
    const ended = { afterId, throughId: this.#lastId, behindMs: 0 }
    this.#periods = [...this.#periods, ended]
      .map((period) => ({ ...period, behindMs: period.behindMs + byMs }))
      .slice(-PERIODS_MAX)
    for (const { behindMs, ...period } of this.#periods) {
      const aheadMsMax = behindMs + this.#settings.futureMsMax
      if (behindMs > 0) await this.#retry({ ...period, aheadMsMax })
    }
  }

  async #retry(ahead: AheadRefused): Promise<void> {
    const { log } = this.#with
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        const { count } = await retryAhead(this.#with, this.#settings, ahead)
        if (count > 0) log.info('stored what was refused while the clock was behind', { count })
        return
      } catch (error) {
        log.warn('cannot try again what was refused', { error: String(error) })
        await this.#with.pause(AGAIN_MS, signal)
      }
    }
  }
}
