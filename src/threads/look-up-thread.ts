// The look-up thread: looks up the events of each group in the sealed part of the ledger before the
// commit thread takes the group, so the disk reads for one group overlap the fsync of the previous
// one. Everything for the commit thread passes through here, in order, including what the seal
// thread has sealed: by the time the commit thread hears of a run and forgets its events, every
// later group has been looked up in that run.

import { once } from 'node:events'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { epochsWaitingMax } from '../domain/limits.ts'
import type { CommitRequest } from '../sqlite/commit/commit-channel.ts'
import { CONTROL_FILE, LEDGER_FILE, openForReading } from '../sqlite/database.ts'
import { EventKeyCipher, readEventSecret } from '../sqlite/event-key.ts'
import { lookUpGroup } from '../sqlite/commit/group-look-up.ts'
import { SealedEvents } from '../sqlite/ledger/sealed-events.ts'
import { systemClock } from '../system/clock.ts'
import type {
  LookUpAnswer,
  LookUpThreadData,
  SealAnswer,
  SealStarted,
  SealThreadRequest,
} from './messages.ts'

const { dataDir, requests, commits, seals } = workerData as LookUpThreadData
const port = parentPort
if (port === null) throw new Error('BUG: the look-up thread is started as a program')
await once(port, 'message')

const ledger = openForReading(dataDir, LEDGER_FILE)
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

/** The runs sealed so far: the seal thread has started before this one. */
function storedRuns(): SealStarted['runs'] {
  const first = receiveMessageOnPort(seals)
  if (first === undefined) throw new Error('BUG: nobody has said what is sealed')
  return (first.message as SealStarted).runs
}

function readSecret(): Uint8Array {
  const control = openForReading(dataDir, CONTROL_FILE)
  const secret = readEventSecret(control)
  control.close()
  return secret
}

function lookUp(request: Extract<CommitRequest, { group: unknown }>): void {
  if (epochsWaiting >= epochsWaitingMax) {
    heldBack.push(request)
    return
  }
  answer({ ...request, group: lookUpGroup(request.group, cipher, sealed, systemClock.monotonicMs) })
}

function requestSeal(request: SealThreadRequest): void {
  epochsWaiting++
  seals.postMessage(request)
}

function noteSealed(news: Extract<SealAnswer, { sealed: unknown }>): void {
  sealed.addRun(news.sealed)
  epochsWaiting--
  answer({ sealedThroughSeq: news.throughSeq })
  for (const held of heldBack.splice(0)) lookUp(held)
}

function noteMerged({ merged }: Extract<SealAnswer, { merged: unknown }>): void {
  sealed.noteMerged(merged)
  const { run, stopSegment } = merged
  seals.postMessage({ taken: { runNo: run.runNo, stopSegment } } satisfies SealThreadRequest)
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
