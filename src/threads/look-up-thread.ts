// The look-up thread: asks the sealed part of the ledger for the events of each group before the
// commit thread takes it, so that the disk reads of one group and the fsync of the one before go on
// at the same time. All that goes to the commit thread passes here and stays in its order; so does
// what the seal thread has sealed: when the commit thread hears of it and forgets
// those events, whatever comes after was looked up in what they are sealed in.

import { join } from 'node:path'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { CommitRequest } from '../sqlite/commit/commit-channel.ts'
import { CONTROL_FILE, LEDGER_FILE, openForReading } from '../sqlite/database.ts'
import { EventKeyCipher } from '../sqlite/event-key.ts'
import { readEventSecret } from '../sqlite/event-secret.ts'
import { lookUpGroup } from '../sqlite/commit/group-frame.ts'
import type { SealRequest } from '../sqlite/ledger/ledger.ts'
import { SealedEvents } from '../sqlite/ledger/sealed-events.ts'
import type { SealAnswer, SealStarted, SealThreadRequest } from './seal-thread.ts'

export interface LookUpThreadData {
  readonly dataDir: string
  /** Where what is for the commit thread comes in. */
  readonly requests: MessagePort
  readonly commits: MessagePort
  readonly seals: MessagePort
}

export type LookUpAnswer =
  /** A group is looked up. */
  CommitRequest | { readonly sealedThroughSeq: number }

/** Epochs that wait to be sealed at most; beyond it groups wait for the seal thread. */
const EPOCHS_WAITING_MAX = 3

const { dataDir, requests, commits, seals } = workerData as LookUpThreadData
const port = parentPort
if (port === null) throw new Error('BUG: the look-up thread is started as a program')

const ledger = openForReading(join(dataDir, LEDGER_FILE))
const sealed = new SealedEvents(ledger, storedRuns())
const cipher = new EventKeyCipher(readSecret())
const heldBack: Extract<CommitRequest, { group: unknown }>[] = []
let epochsWaiting = 0

seals.on('message', (news: SealAnswer) => {
  if ('sealed' in news) noteSealed(news)
  else noteMerged(news)
})
commits.on('message', requestSeal)
requests.on('message', (request: CommitRequest) => {
  if ('group' in request) lookUp(request)
  else answer(request)
})
port.once('message', end)
port.postMessage('started')

/** What is sealed already: the seal thread has started before. */
function storedRuns(): SealStarted['runs'] {
  const first = receiveMessageOnPort(seals)
  if (first === undefined) throw new Error('BUG: nobody has said what is sealed')
  return (first.message as SealStarted).runs
}

function readSecret(): Uint8Array {
  const control = openForReading(join(dataDir, CONTROL_FILE))
  const secret = readEventSecret(control)
  control.close()
  return secret
}

function lookUp(request: Extract<CommitRequest, { group: unknown }>): void {
  if (epochsWaiting >= EPOCHS_WAITING_MAX) {
    heldBack.push(request)
    return
  }
  answer({ ...request, group: lookUpGroup(request.group, cipher, sealed) })
}

function requestSeal(request: SealRequest): void {
  epochsWaiting++
  seals.postMessage(request satisfies SealThreadRequest)
}

function noteSealed(news: Extract<SealAnswer, { sealed: unknown }>): void {
  sealed.addRun(news.sealed)
  epochsWaiting--
  answer({ sealedThroughSeq: news.throughSeq })
  for (const held of heldBack.splice(0)) lookUp(held)
}

function noteMerged({ merged }: Extract<SealAnswer, { merged: unknown }>): void {
  sealed.noteMerged(merged)
  seals.postMessage({ takenSegment: merged.stopSegment } satisfies SealThreadRequest)
}

function end(): void {
  // Nobody waits for their answers any more.
  heldBack.length = 0
  ledger.close()
  for (const each of [requests, commits, seals]) each.close()
  port?.close()
}

function answer(message: LookUpAnswer): void {
  commits.postMessage(message)
}
