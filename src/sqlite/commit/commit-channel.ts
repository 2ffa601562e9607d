// The main thread's line to the commit thread: requests go out with a number, by way of the look-up
// thread, answers come back with it.

import { MessageChannel, Worker } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { threadHeap } from '../../domain/limits.ts'
import type { Commands } from './commands.ts'
import type { GroupFrame, GroupResult } from './group-frame.ts'
import type { ReplayRetention } from './committer.ts'
import type { AcceptanceRules } from '../../domain/acceptance.ts'

export interface CommitSettings extends AcceptanceRules {
  readonly dataDir: string
  readonly epochEvents: number
  /** `undefined`: the store loses nothing, so that rows go when they are forwarded and sealed. */
  readonly replayRetention: ReplayRetention | undefined
}

/** What the commit thread is started with. */
export interface CommitThreadData extends CommitSettings {
  /** Where requests come in. */
  readonly requests: MessagePort
}

export type CommitRequest =
  | { readonly id: number; readonly group: GroupFrame }
  | { readonly id: number; readonly command: keyof Commands; readonly args: unknown[] }
  | { readonly forwardedSeq: number }
  | { readonly id: number; readonly close: true }

export type CommitAnswer =
  | { readonly started: true }
  | { readonly id: number; readonly group: GroupResult }
  | { readonly id: number; readonly result: unknown }
  /** The disk is full: nothing of the request is stored. */
  | { readonly id: number; readonly storageFull: true }
  | { readonly id: number; readonly failure: string }

interface CommitEvents {
  /** The thread has died: what was in flight may or may not be stored. Called once. */
  readonly onFailure: (error: Error) => void
  /** The disk is full: nothing of a request is stored. @returns what it fails with */
  readonly onStorageFull: () => Error
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: Error) => void
}

export class CommitChannel {
  readonly #worker: Worker
  readonly #requests: MessagePort
  readonly #onStorageFull: () => Error
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0

  private constructor(worker: Worker, requests: MessagePort, onStorageFull: () => Error) {
    this.#worker = worker
    this.#requests = requests
    this.#onStorageFull = onStorageFull
  }

  /** Starts the commit thread and resolves once the ledger is in memory. */
  static async open(
    entry: URL,
    settings: CommitSettings,
    { onFailure, onStorageFull }: CommitEvents,
  ): Promise<CommitChannel> {
    const { port1, port2 } = new MessageChannel()
    const worker = new Worker(entry, {
      workerData: { ...settings, requests: port2 } satisfies CommitThreadData,
      transferList: [port2],
      resourceLimits: threadHeap,
    })
    const channel = new CommitChannel(worker, port1, onStorageFull)
    await new Promise<void>((resolve, reject) => {
      worker.once('message', () => resolve())
      worker.once('error', reject)
    })
    worker.removeAllListeners('error')
    worker.on('message', (answer: CommitAnswer) => channel.#settle(answer))
    worker.on('error', onFailure)
    return channel
  }

  /** @throws Error of `onStorageFull` */
  commitGroup(frame: GroupFrame): Promise<GroupResult> {
    return this.#request((id) => ({ id, group: frame })) as Promise<GroupResult>
  }

  /** @throws Error of `onStorageFull` */
  call<Command extends keyof Commands>(
    command: Command,
    ...args: Parameters<Commands[Command]>
  ): ReturnType<Commands[Command]> {
    return this.#request((id) => ({ id, command, args })) as ReturnType<Commands[Command]>
  }

  noteForwarded(seq: number): void {
    this.#requests.postMessage({ forwardedSeq: seq } satisfies CommitRequest)
  }

  /** Resolves when all requests before it are answered and the files are closed. */
  async close(): Promise<void> {
    await this.#request((id) => ({ id, close: true }))
    await this.#worker.terminate()
    this.#requests.close()
  }

  #request(toMessage: (id: number) => CommitRequest): Promise<unknown> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#requests.postMessage(toMessage(id))
    })
  }

  #settle(answer: CommitAnswer): void {
    if ('started' in answer) return
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if (waiting === undefined) return
    if ('group' in answer) waiting.resolve(answer.group)
    else if ('result' in answer) waiting.resolve(answer.result)
    else if ('storageFull' in answer) waiting.reject(this.#onStorageFull())
    else waiting.reject(new Error(answer.failure))
  }
}
