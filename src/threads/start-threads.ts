// All threads besides the main thread. Only this file starts them. What they exchange:
//
//   main ─ submissions, commands ─▶ look-up ─ the same, looked up ─▶ commit ─ answers ─▶ main
//                                    ▲   │ ◀─ events to be sealed ────┘
//                     what is sealed │   ▼ events to be sealed
//                                     seal
//
//   main ◀─ what is in the store ─ forward
//
// An uncaught error ends its thread. What that thread was writing may be on disk or not, so the
// process has to end as well.

import { once } from 'node:events'
import { MessageChannel, Worker } from 'node:worker_threads'
import type { Transferable, WorkerOptions } from 'node:worker_threads'
import { threadHeap } from '../domain/limits.ts'
import { CommitChannel } from '../sqlite/commit/commit-channel.ts'
import type { CommitSettings } from '../sqlite/commit/commit-channel.ts'
import { openControl } from '../sqlite/control/open-control.ts'
import { CONTROL_FILE, refuseDamaged } from '../sqlite/database.ts'
import type { Connection } from '../sqlite/database.ts'
import type { CommitThreadData } from './commit-thread.ts'
import { ForwardChannel } from './forward-channel.ts'
import type { ForwardListeners } from './forward-channel.ts'
import type { ForwardThreadData } from './forward-thread.ts'
import type { LookUpThreadData } from './look-up-thread.ts'
import type { MergeDamage, SealThreadData } from './seal-thread.ts'

type Entry = 'commit' | 'look-up' | 'seal' | 'forward'

export interface WritingThreads {
  readonly channel: CommitChannel
  /** Resolves when all requests are answered and the files are closed. */
  close(): Promise<void>
}

/**
 * Starts the threads that write control.db and ledger.db; resolves once the ledger is in memory.
 *
 * @param events `onLoading` is called before any file is opened, while threads load their modules
 */
export async function startWriting(
  settings: CommitSettings,
  events: {
    readonly onFailure: (error: Error) => void
    readonly onDamaged: (problem: string) => void
    readonly onStorageFull: () => Error
    readonly onLoading: () => void
  },
): Promise<WritingThreads> {
  const { dataDir, epochEvents } = settings
  const started: Worker[] = []
  const start = (entry: Entry, workerData: object, transferList: Transferable[]) => {
    const thread = startThread(entry, { workerData, transferList })
    started.push(thread)
    return thread
  }
  let control: Connection | undefined
  const requests = new MessageChannel()
  const lookedUp = new MessageChannel()
  const sealed = new MessageChannel()
  try {
    const ofSeal: SealThreadData = { dataDir, epochEvents, lookUps: sealed.port1 }
    const seal = start('seal', ofSeal, [sealed.port1])
    const ports = { requests: requests.port1, commits: lookedUp.port1, seals: sealed.port2 }
    const ofLookUp: LookUpThreadData = { dataDir, ...ports }
    const lookUp = start('look-up', ofLookUp, Object.values(ports))
    const ofCommit: CommitThreadData = { ...settings, lookUps: lookedUp.port2 }
    const commit = start('commit', ofCommit, [lookedUp.port2])
    // Their modules are loaded meanwhile, side by side; their files are opened one after another.
    events.onLoading()
    control = openControl(dataDir)
    refuseDamaged(control, CONTROL_FILE)
    for (const thread of [seal, lookUp, commit]) {
      thread.postMessage('open')
      await firstMessage(thread)
    }
    for (const thread of started) thread.on('error', events.onFailure)
    seal.on('message', ({ damage }: MergeDamage) => events.onDamaged(damage))
    const channel = new CommitChannel(commit, requests.port2, events.onStorageFull)
    const close = async () => {
      await channel.finish()
      // Whoever closes a file last empties its log, and only its writer can.
      for (const thread of [lookUp, seal, commit]) await endThread(thread)
    }
    return { channel, close }
  } catch (error) {
    for (const thread of started) await thread.terminate()
    throw error
  } finally {
    // Only now: whoever closes a file last gives up its log's space, which something else may take.
    control?.close()
  }
}

/** Starts the forward thread; resolves once the measurement store is open. */
export async function startForwarding(
  order: Omit<ForwardThreadData, 'isIdle'>,
  listeners: ForwardListeners,
): Promise<ForwardChannel> {
  const isIdle = new Int32Array(new SharedArrayBuffer(4))
  const workerData: ForwardThreadData = { ...order, isIdle }
  const thread = startThread('forward', { workerData })
  const channel = new ForwardChannel(thread, isIdle, listeners)
  await firstMessage(thread)
  thread.on('error', listeners.onFailure)
  return channel
}

function startThread(entry: Entry, options: WorkerOptions): Worker {
  const file = new URL(`./${entry}-thread.ts`, import.meta.url)
  return new Worker(file, { ...options, resourceLimits: threadHeap })
}

/** @throws Error that ended the thread earlier */
async function firstMessage(thread: Worker): Promise<void> {
  await once(thread, 'message')
}

/** Tells a thread that no more requests will come; resolves when it has ended. */
async function endThread(thread: Worker): Promise<void> {
  const ended = once(thread, 'exit')
  thread.postMessage('end')
  await ended
}
