// Retries, once a minute, what was refused because its time was ahead and has now come.

import { MINUTE_MS } from '../domain/time.ts'
import type { Log } from '../ports/system.ts'
import type { LineNames } from './read-refused.ts'
import { retriedAtOnce, retryDueRefused } from './refused.ts'
import type { RefusedCollaborators } from './refused.ts'

const INTERVAL_MS = MINUTE_MS

export class RefusedRetries {
  readonly #with: RefusedCollaborators & { readonly log: Log }
  readonly #names: LineNames
  #timer: NodeJS.Timeout | undefined
  #underWay: Promise<void> | undefined
  #isStopping = false

  constructor(collaborators: RefusedCollaborators & { readonly log: Log }, names: LineNames) {
    this.#with = collaborators
    this.#names = names
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.run(), INTERVAL_MS).unref()
  }

  /** Retries all that is due now, unless a retry is under way. */
  run(): Promise<void> {
    this.#underWay ??= this.#retry().finally(() => (this.#underWay = undefined))
    return this.#underWay
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#timer)
    this.#timer = undefined
    await this.#underWay
  }

  async #retry(): Promise<void> {
    const { clock, log } = this.#with
    const nowMs = clock.nowMs()
    let stored = 0
    let failure: string | undefined
    try {
      for (let isMore = true; isMore && !this.#isStopping;) {
        const retried = await retryDueRefused(this.#with, this.#names, nowMs)
        const { tried, count, failures } = retried
        stored += count
        if (failures.length > 0) failure ??= String(failures[0])
        // Where nothing could be decided, the next will not be either.
        isMore = tried === retriedAtOnce && failures.length < tried
      }
    } catch (error) {
      failure ??= String(error)
    }
    if (stored > 0) log.info('stored what was refused before its time', { stored })
    if (failure !== undefined) log.warn('cannot try again what was refused', { error: failure })
  }
}
