// The main thread's line to the forward thread: wakes it when there are new rows, hears what has
// reached the measurement store and whether the store takes anything at all.

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadHeap } from '../domain/limits.ts'
import type {
  DeletionPass,
  ForwardAnswer,
  ForwardedRows,
  ForwardRequest,
  ForwardThreadData,
} from './forward-thread.ts'

export interface ForwardListener {
  readonly onForwarded: (forwarded: ForwardedRows) => void
  /** A deleted sensor's measurements were deleted from the store. */
  readonly onDeletionPass: (pass: DeletionPass) => void
  /** The thread has died; the journal keeps what it has not forwarded. */
  readonly onFailure: (error: Error) => void
}

export class ForwardChannel {
  readonly #worker: Worker
  #isStoreWorking = true

  private constructor(worker: Worker) {
    this.#worker = worker
  }

  /** Resolves once the measurement store is open and forwarding has begun. */
  static async open(data: ForwardThreadData, listener: ForwardListener): Promise<ForwardChannel> {
    const entry = new URL('./forward-thread.ts', import.meta.url)
    const worker = new Worker(entry, { workerData: data, resourceLimits: threadHeap })
    const channel = new ForwardChannel(worker)
    worker.on('message', (answer: ForwardAnswer) => channel.#hear(answer, listener))
    await once(worker, 'message')
    worker.on('error', listener.onFailure)
    return channel
  }

  /** Whether the last write into the store worked. */
  get isStoreWorking(): boolean {
    return this.#isStoreWorking
  }

  notify(): void {
    this.#worker.postMessage({ committed: true } satisfies ForwardRequest)
  }

  /** Lets the write under way finish and closes the store. */
  async close(): Promise<void> {
    const ended = once(this.#worker, 'exit')
    this.#worker.postMessage({ close: true } satisfies ForwardRequest)
    await ended
  }

  #hear(answer: ForwardAnswer, listener: ForwardListener): void {
    if ('forwarded' in answer) listener.onForwarded(answer.forwarded)
    else if ('deletionPass' in answer) listener.onDeletionPass(answer.deletionPass)
    else if ('isStoreWorking' in answer) this.#isStoreWorking = answer.isStoreWorking
  }
}
