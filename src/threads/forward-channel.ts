// The main thread's line to the forward thread: wakes it when there are new rows, hears what has
// reached the measurement store and whether the store takes anything at all.

import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import type { ForwardedRows, ReadableRows } from '../sqlite/journal/forward-progress.ts'
import type { DeletionPass } from '../sqlite/control/sensor-deletion-jobs.ts'
import type { ForwardAnswer, ForwardRequest } from './forward-thread.ts'

export interface ForwardListener {
  /** Rows can be read from the store, and are forwarded when they are there for good. */
  readonly onReadable: (readable: ReadableRows) => void
  readonly onForwarded: (forwarded: ForwardedRows) => void
  /** A deleted sensor's measurements were deleted from the store. */
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

  /** Whether the last write into the store worked. */
  get isStoreWorking(): boolean {
    return this.#isStoreWorking
  }

  /** Writes into the store that did not work. */
  get failures(): number {
    return this.#failures
  }

  /** There are new rows. The thread is woken only when it waits for them: a message is dear. */
  notify(): void {
    if (Atomics.exchange(this.#isIdle, 0, 0) === 0) return
    this.#worker.postMessage({ committed: true } satisfies ForwardRequest)
  }

  /** Somebody waits for the rows that there are. */
  hurry(): void {
    this.#worker.postMessage({ wanted: true } satisfies ForwardRequest)
  }

  /** Lets the write under way finish and closes the store. */
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
