// The look-up thread: asks the sealed part of the ledger for the events of each group before the
// commit thread takes it, so that the disk reads of one group and the fsync of the one before go on
// at the same time. All that goes to the commit thread passes here and stays in its order; so does
// what the seal thread, which it starts, has sealed: when the commit thread hears of it and forgets
// those events, whatever comes after was looked up in what they are sealed in.

import { once } from 'node:events'
import { join } from 'node:path'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { threadHeap } from '../domain/limits.ts'
import type { CommitRequest } from '../sqlite/commit/commit-channel.ts'
import { LEDGER_FILE, openForReading } from '../sqlite/database.ts'
import { lookUpGroup } from '../sqlite/commit/look-up-group.ts'
import type { SealRequest } from '../sqlite/ledger/ledger.ts'
import type { MergeProgress } from '../sqlite/ledger/ledger-run.ts'
import { SealedEvents } from '../sqlite/ledger/sealed-events.ts'
import type { SealAnswer, SealStarted, SealThreadData, SealThreadRequest } from './seal-thread.ts'

export interface LookUpThreadData extends SealThreadData {
  /** Where what is for the commit thread comes in. */
  readonly requests: MessagePort
}

export type LookUpThreadRequest = SealRequest | { readonly close: true }

export type LookUpAnswer =
  /** The ledger's file is there, in its present form. */
  | { readonly started: true }
  /** A group is looked up. */
  | CommitRequest
  | { readonly sealedThroughSeq: number }

/** Epochs that wait to be sealed at most; beyond it groups wait for the seal thread. */
const EPOCHS_WAITING_MAX = 3

const { requests, ...sealData } = workerData as LookUpThreadData
const port = parentPort
if (port === null) throw new Error('BUG: the look-up thread is started as a program')

const sealer = new Worker(new URL('./seal-thread.ts', import.meta.url), {
  workerData: sealData satisfies SealThreadData,
  resourceLimits: threadHeap,
})
const [{ started: storedRuns }] = (await once(sealer, 'message')) as [SealStarted]
const ledger = openForReading(join(sealData.dataDir, LEDGER_FILE))
const sealed = new SealedEvents(ledger, storedRuns)
const heldBack: Extract<CommitRequest, { group: unknown }>[] = []
let epochsWaiting = 0

sealer.on('error', (error) => {
  throw error
})
sealer.on('message', (news: SealAnswer) => {
  if ('sealed' in news) noteSealed(news)
  else if ('merged' in news) noteMerged(news.merged)
})
port.on('message', (request: LookUpThreadRequest) => {
  if ('close' in request) void close()
  else requestSeal(request)
})
requests.on('message', (request: CommitRequest) => {
  if ('group' in request) lookUp(request)
  else answer(request)
})
answer({ started: true })

function lookUp(request: Extract<CommitRequest, { group: unknown }>): void {
  if (epochsWaiting >= EPOCHS_WAITING_MAX) {
    heldBack.push(request)
    return
  }
  lookUpGroup(request.group, sealed)
  answer(request)
}

function requestSeal(request: SealRequest): void {
  epochsWaiting++
  sealer.postMessage(request satisfies SealThreadRequest)
}

function noteSealed(news: Extract<SealAnswer, { sealed: unknown }>): void {
  sealed.addRun(news.sealed)
  epochsWaiting--
  answer({ sealedThroughSeq: news.throughSeq })
  for (const held of heldBack.splice(0)) lookUp(held)
}

function noteMerged(merged: MergeProgress): void {
  sealed.noteMerged(merged)
  sealer.postMessage({ takenSegment: merged.stopSegment } satisfies SealThreadRequest)
}

async function close(): Promise<void> {
  // Nobody waits for their answers any more, and what is being sealed would let them go on.
  heldBack.length = 0
  const sealerEnded = once(sealer, 'exit')
  // Who closes a file last empties its log, and only a writer can.
  ledger.close()
  sealer.postMessage({ close: true } satisfies SealThreadRequest)
  await sealerEnded
  requests.close()
  port?.close()
}

function answer(message: LookUpAnswer): void {
  port?.postMessage(message)
}
