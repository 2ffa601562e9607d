// Retries what was refused because the clock was behind, as that of a machine without a battery is
// after its start, when it has been set: once, a minute after. Whatever else was refused as ahead
// waits for an operator: whoever sends local time as UTC is ahead for ever.

import { MINUTE_MS } from '../domain/time.ts'
import type { AheadRefused } from '../ports/refused.ts'
import type { ClockStep, Log } from '../ports/system.ts'
import type { LineNames } from './read-refused.ts'
import { retryAhead } from './refused.ts'
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

export class RefusedRetries {
  readonly #with: Collaborators
  readonly #settings: Settings
  readonly #stopping = new AbortController()
  #underWay: Promise<void> = Promise.resolve()

  constructor(collaborators: Collaborators, settings: Settings) {
    this.#with = collaborators
    this.#settings = settings
  }

  /** Retries what would not have been refused, had the clock been set before. */
  after({ sinceMs, untilMs, byMs }: ClockStep): Promise<void> {
    const ahead = { sinceMs, untilMs, aheadMsMax: byMs + this.#settings.futureMsMax }
    this.#underWay = this.#underWay.then(() => this.#retry(ahead))
    return this.#underWay
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#underWay
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
