// The main thread's channel to the commit thread: requests are numbered and go by way of the
// look-up thread, answers carry the number of their request.

import type { EventEmitter } from 'node:events'
import type { MessagePort } from 'node:worker_threads'
import type { Commands } from './commands.ts'
import type { GroupFrame, GroupResult } from './group-frame.ts'
import type { ReplayRetention } from './committer.ts'
import type { AcceptanceRules } from '../../domain/acceptance.ts'

export interface CommitSettings extends AcceptanceRules {
  readonly dataDir: string
  readonly epochEvents: number
  /** `undefined`: the store loses nothing, so rows go once they are forwarded and sealed. */
  readonly replayRetention: ReplayRetention | undefined
}

export type CommitRequest =
  | { readonly id: number; readonly group: GroupFrame }
  | { readonly id: number; readonly command: keyof Commands; readonly args: unknown[] }
  | { readonly forwardedSeq: number }
  /** The last row. */
  | { readonly id: number; readonly finish: true }

export type CommitAnswer =
  | { readonly id: number; readonly group: GroupResult }
  | { readonly id: number; readonly result: unknown }
  /** The disk is full: nothing of the request is stored. */
  | { readonly id: number; readonly storageFull: true }
  | { readonly id: number; readonly failure: string }

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: Error) => void
}

export class CommitChannel {
  readonly #requests: MessagePort
  readonly #onStorageFull: () => Error
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0

  /**
   * @param answers from the commit thread, which has started
   * @param requests goes there by way of the look-up thread
   * @param onStorageFull makes the error for a request of which nothing is stored because the disk
   * is full
   */
  constructor(answers: EventEmitter, requests: MessagePort, onStorageFull: () => Error) {
    this.#requests = requests
    this.#onStorageFull = onStorageFull
    answers.on('message', (answer: CommitAnswer) => this.#settle(answer))
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

  /** Ends the thread. Resolves when all requests have been answered. */
  async finish(): Promise<void> {
    await this.#request((id) => ({ id, finish: true }))
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
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if (waiting === undefined) return
    if ('group' in answer) waiting.resolve(answer.group)
    else if ('result' in answer) waiting.resolve(answer.result)
    else if ('storageFull' in answer) waiting.reject(this.#onStorageFull())
    else waiting.reject(new Error(answer.failure))
  }
}
