// The look-up thread: looks up the events of each group in the sealed part of the ledger before the
// commit thread takes the group, so the disk reads for one group overlap the fsync of the previous
// one. Everything for the commit thread passes through here, in order, including what the seal
// thread has sealed: by the time the commit thread hears of a run and forgets its events, every
// later group has been looked up in that run.

import { once } from 'node:events'
import { receiveMessageOnPort } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
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

export async function run(data: LookUpThreadData, port: MessagePort): Promise<void> {
  await once(port, 'message')
  const { dataDir, requests, commits, seals } = data
  const ledger = openForReading(dataDir, LEDGER_FILE)
  const sealed = new SealedEvents(ledger, storedRuns(seals))
  const cipher = new EventKeyCipher(readSecret(dataDir))
  const heldBack: Extract<CommitRequest, { group: unknown }>[] = []
  let epochsWaiting = 0
  const answer = (message: LookUpAnswer) => commits.postMessage(message)

  const lookUp = (request: Extract<CommitRequest, { group: unknown }>) => {
    if (epochsWaiting >= epochsWaitingMax) {
      heldBack.push(request)
      return
    }
    const group = lookUpGroup(request.group, cipher, sealed, systemClock.monotonicMs)
    answer({ ...request, group })
  }
  const noteSealed = (news: Extract<SealAnswer, { sealed: unknown }>) => {
    sealed.addRun(news.sealed)
    epochsWaiting--
    answer({ sealedThroughSeq: news.throughSeq })
    for (const held of heldBack.splice(0)) lookUp(held)
  }
  const noteMerged = ({ merged }: Extract<SealAnswer, { merged: unknown }>) => {
    sealed.noteMerged(merged)
    const {
      run: { runNo },
      stopSegment,
    } = merged
    seals.postMessage({ taken: { runNo, stopSegment } } satisfies SealThreadRequest)
  }

  seals.on('message', (news: SealAnswer) => {
    if ('sealed' in news) noteSealed(news)
    else noteMerged(news)
  })
  commits.on('message', (request: SealThreadRequest) => {
    epochsWaiting++
    seals.postMessage(request)
  })
  requests.on('message', (request: CommitRequest) => {
    if ('group' in request) lookUp(request)
    else answer(request)
  })
  port.once('message', () => {
    // Nobody waits for their answers any more.
    heldBack.length = 0
    ledger.close()
    for (const each of [requests, commits, seals, port]) each.close()
  })
  port.postMessage('started')
}

/** The runs sealed so far: the seal thread has started before this one. */
function storedRuns(seals: MessagePort): SealStarted['runs'] {
  const first = receiveMessageOnPort(seals)
  if (first === undefined) throw new Error('BUG: nobody has said what is sealed')
  return (first.message as SealStarted).runs
}

function readSecret(dataDir: string): Uint8Array {
  const control = openForReading(dataDir, CONTROL_FILE)
  const secret = readEventSecret(control)
  control.close()
  return secret
}
