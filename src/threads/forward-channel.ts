// The main thread's connection to the forward thread: wakes it for new rows, and passes on what has
// reached the measurement store and whether the store accepts anything.

import { once } from 'node:events'
import { ServiceError } from '../domain/errors.ts'
import { StoreState } from '../ingest/forwarding.ts'
import type { Metrics } from '../ports/system.ts'
import type { CommitChannel } from '../sqlite/commit/commit-channel.ts'
import type { DeletionPass } from '../sqlite/control/sensor-deletion-jobs.ts'
import type { ForwardProgress } from '../sqlite/journal/forward-progress.ts'
import type { ForwardAnswer, ForwardRequest, Thread } from './messages.ts'

export interface ForwardListeners {
  readonly progress: ForwardProgress
  readonly metrics: Metrics
  readonly channel: CommitChannel
  readonly onFailure: (error: Error) => void
}

export class ForwardChannel {
  readonly store = new StoreState()
  readonly #thread: Thread
  readonly #isIdle: Int32Array
  readonly #listeners: ForwardListeners

  constructor(thread: Thread, isIdle: Int32Array, listeners: ForwardListeners) {
    this.#thread = thread
    this.#isIdle = isIdle
    this.#listeners = listeners
    thread.on('message', (answer: ForwardAnswer) => this.#hear(answer))
  }

  /** Announces new rows. Wakes the thread only if it sleeps: messages are expensive. */
  notify(): void {
    if (Atomics.exchange(this.#isIdle, 0, 0) === 0) return
    this.#thread.postMessage({ committed: true } satisfies ForwardRequest)
  }

  /** A reader waits for the existing rows. */
  hurry(): void {
    this.#thread.postMessage({ wanted: true } satisfies ForwardRequest)
  }

  /** Finishes the write under way and closes the store. */
  async close(): Promise<void> {
    const ended = once(this.#thread, 'exit')
    this.#thread.postMessage({ close: true } satisfies ForwardRequest)
    await ended
  }

  #hear(answer: ForwardAnswer): void {
    const { progress, metrics, onFailure } = this.#listeners
    if ('readable' in answer) void progress.noteReadable(answer.readable)
    else if ('forwarded' in answer) {
      metrics.noteForwardDuration(answer.forwarded.durationMs)
      void progress.noteForwarded(answer.forwarded)
    } else if ('deletionPass' in answer) {
      void this.#noteDeletionPass(answer.deletionPass).catch(onFailure)
    } else if ('isStoreWorking' in answer) this.store.note(answer.isStoreWorking)
  }

  /** What a full disk keeps from being recorded stays due, and is done again. */
  async #noteDeletionPass({ sensorId, dueAtMs }: DeletionPass): Promise<void> {
    try {
      await this.#listeners.channel.call('noteDeletionPass', sensorId, dueAtMs)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'storage_full') throw error
    }
  }
}
