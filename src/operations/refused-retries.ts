// Retries, once a minute, what was refused because its time was ahead and has now come.

import { MINUTE_MS } from '../domain/time.ts'
import type { Log } from '../ports/system.ts'
import type { LineNames } from './read-refused.ts'
import { retryDueRefused } from './refused.ts'
import type { RefusedCollaborators } from './refused.ts'

const INTERVAL_MS = MINUTE_MS

export class RefusedRetries {
  readonly #with: RefusedCollaborators & { readonly log: Log }
  readonly #names: LineNames
  #timer: NodeJS.Timeout | undefined
  #underWay: Promise<void> | undefined

  constructor(collaborators: RefusedCollaborators & { readonly log: Log }, names: LineNames) {
    this.#with = collaborators
    this.#names = names
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.run(), INTERVAL_MS).unref()
  }

  /** Retries what is due now, unless a retry is under way. */
  run(): Promise<void> {
    this.#underWay ??= this.#retry().finally(() => (this.#underWay = undefined))
    return this.#underWay
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    await this.#underWay
  }

  async #retry(): Promise<void> {
    const { log } = this.#with
    try {
      const stored = await retryDueRefused(this.#with, this.#names)
      if (stored > 0) log.info('stored what was refused before its time', { stored })
    } catch (error) {
      log.warn('cannot try again what was refused', { error: String(error) })
    }
  }
}
