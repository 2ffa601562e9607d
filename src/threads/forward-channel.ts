// The main thread's connection to the forward thread: wakes it for new rows, and learns what has
// reached the measurement store and whether the store accepts anything.

import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import type { ForwardedRows, ReadableRows } from '../sqlite/journal/forward-progress.ts'
import type { DeletionPass } from '../sqlite/control/sensor-deletion-jobs.ts'
import type { ForwardAnswer, ForwardRequest } from './forward-thread.ts'

export interface ForwardListener {
  /** The store has rows up to here: readable, and forwarded once they are durable. */
  readonly onReadable: (readable: ReadableRows) => void
  readonly onForwarded: (forwarded: ForwardedRows) => void
  /** A deleted sensor's measurements have been deleted from the store. */
  readonly onDeletionPass: (pass: DeletionPass) => void
}

export class ForwardChannel {
  readonly #worker: Worker
  readonly #isIdle: Int32Array
  #isStoreWorking = true
  #failures = 0

  constructor(worker: Worker, isIdle: Int32Array, listener: ForwardListener) {
    this.#worker = worker
    this.#isIdle = isIdle
    worker.on('message', (answer: ForwardAnswer) => this.#hear(answer, listener))
  }

  /** Whether the last write to the store succeeded. */
  get isStoreWorking(): boolean {
    return this.#isStoreWorking
  }

  /** Failed writes to the store. */
  get failures(): number {
    return this.#failures
  }

  /** Announces new rows. Wakes the thread only if it sleeps: messages are expensive. */
  notify(): void {
    if (Atomics.exchange(this.#isIdle, 0, 0) === 0) return
    this.#worker.postMessage({ committed: true } satisfies ForwardRequest)
  }

  /** A reader waits for the existing rows. */
  hurry(): void {
    this.#worker.postMessage({ wanted: true } satisfies ForwardRequest)
  }

  /** Finishes the write under way and closes the store. */
  async close(): Promise<void> {
    const ended = once(this.#worker, 'exit')
    this.#worker.postMessage({ close: true } satisfies ForwardRequest)
    await ended
  }

  #hear(answer: ForwardAnswer, listener: ForwardListener): void {
    if ('readable' in answer) listener.onReadable(answer.readable)
    else if ('forwarded' in answer) listener.onForwarded(answer.forwarded)
    else if ('deletionPass' in answer) listener.onDeletionPass(answer.deletionPass)
    else if ('isStoreWorking' in answer) {
      this.#isStoreWorking = answer.isStoreWorking
      if (!answer.isStoreWorking) this.#failures++
    }
  }
}
