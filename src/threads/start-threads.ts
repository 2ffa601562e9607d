// All threads besides the main thread. Only this file starts them; messages.ts has what they
// exchange. An uncaught error ends its thread. What that thread was writing may be on disk or not,
// so the process has to end as well.

import { once } from 'node:events'
import { MessageChannel, Worker } from 'node:worker_threads'
import { threadHeap } from '../domain/limits.ts'
import { CommitChannel } from '../sqlite/commit/commit-channel.ts'
import type { CommitSettings } from '../sqlite/commit/commit-channel.ts'
import { openControl } from '../sqlite/control/schema.ts'
import { CONTROL_FILE, refuseDamaged } from '../sqlite/database.ts'
import type { Connection } from '../sqlite/database.ts'
import { ForwardChannel } from './forward-channel.ts'
import type { ForwardListeners } from './forward-channel.ts'
import type {
  CommitThreadData,
  ForwardThreadData,
  LookUpThreadData,
  MergeDamage,
  SealThreadData,
  StartThread,
  Thread,
  WorkerOrder,
} from './messages.ts'

const WORKER = new URL('./worker-thread.ts', import.meta.url)
const COMMIT = new URL('./commit-thread.ts', import.meta.url)
const LOOK_UP = new URL('./look-up-thread.ts', import.meta.url)
const SEAL = new URL('./seal-thread.ts', import.meta.url)
const FORWARD = new URL('./forward-thread.ts', import.meta.url)

/** In a thread of its own. */
export const startWorker: StartThread = ({ href }, data, transferList = []) => {
  const workerData: WorkerOrder = { program: href, data }
  return new Worker(WORKER, { workerData, transferList, resourceLimits: threadHeap })
}

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
  startThread: StartThread,
  settings: CommitSettings,
  events: {
    readonly onFailure: (error: Error) => void
    readonly onDamaged: (problem: string) => void
    readonly onStorageFull: () => Error
    readonly onLoading: () => void
  },
): Promise<WritingThreads> {
  const { dataDir, epochEvents } = settings
  const started: Thread[] = []
  const start = (...of: Parameters<StartThread>) => {
    const thread = startThread(...of)
    started.push(thread)
    return thread
  }
  let control: Connection | undefined
  const requests = new MessageChannel()
  const lookedUp = new MessageChannel()
  const sealed = new MessageChannel()
  try {
    const ofSeal: SealThreadData = { dataDir, epochEvents, lookUps: sealed.port1 }
    const seal = start(SEAL, ofSeal, [sealed.port1])
    const ports = { requests: requests.port1, commits: lookedUp.port1, seals: sealed.port2 }
    const ofLookUp: LookUpThreadData = { dataDir, ...ports }
    const lookUp = start(LOOK_UP, ofLookUp, Object.values(ports))
    const ofCommit: CommitThreadData = { ...settings, lookUps: lookedUp.port2 }
    const commit = start(COMMIT, ofCommit, [lookedUp.port2])
    // Their modules are loaded meanwhile, side by side; their files are opened one after another.
    events.onLoading()
    control = openControl(dataDir)
    refuseDamaged(control, CONTROL_FILE)
    for (const thread of [seal, lookUp, commit]) {
      thread.postMessage('open')
      await once(thread, 'message')
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
  startThread: StartThread,
  order: Omit<ForwardThreadData, 'isIdle'>,
  listeners: ForwardListeners,
): Promise<ForwardChannel> {
  const isIdle = new Int32Array(new SharedArrayBuffer(4))
  const data: ForwardThreadData = { ...order, isIdle }
  const thread = startThread(FORWARD, data)
  const channel = new ForwardChannel(thread, isIdle, listeners)
  await once(thread, 'message')
  thread.on('error', listeners.onFailure)
  return channel
}

/** Tells a thread that no more requests will come; resolves when it has ended. */
async function endThread(thread: Thread): Promise<void> {
  const ended = once(thread, 'exit')
  thread.postMessage('end')
  await ended
}
