// The seal thread: the only writer of ledger.db. It seals parts of the journal on request, and
// merges runs in between.

import { once } from 'node:events'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { logBytesMax } from '../domain/limits.ts'
import {
  CONTROL_FILE,
  DamagedData,
  damagedFile,
  isStorageFull,
  keepWorkingPages,
  LEDGER_FILE,
  openForReading,
  orDamaged,
  refuseDamaged,
} from '../sqlite/database.ts'
import { bindLedger, readEventSecret } from '../sqlite/event-key.ts'
import type { SealRequest } from '../sqlite/ledger/ledger.ts'
import { LogKeeper } from '../sqlite/log/log-keeper.ts'
import { RunMerger } from '../sqlite/ledger/run-merger.ts'
import { openLedger, STATE_TABLES } from '../sqlite/ledger/schema.ts'
import { filterBuffers, readStoredRuns, segmentBuffers } from '../sqlite/ledger/stored-runs.ts'
import { Sealer } from '../sqlite/ledger/sealer.ts'
import type {
  MergeDamage,
  SealAnswer,
  SealStarted,
  SealThreadData,
  SealThreadRequest,
} from './messages.ts'

/**
 * The look-up thread is reading the file half of the time, so its log has to be begun anew on
 * purpose: left alone, it would grow to hundreds of megabytes, and every commit would then copy and
 * sync what it has added to the file itself. Readers take some milliseconds; backups are not waited
 * for.
 */
const LOG_KEEPING = { bytesMax: logBytesMax.ledger, mode: 'RESTART' } as const
const READERS_WAIT_MS = 50

/** How long to wait before trying again on a full disk. */
const ROOM_CHECK_EVERY_MS = 2_000

const port = parentPort
if (port === null) throw new Error('BUG: the seal thread is started as a program')
await once(port, 'message')

const { dataDir, epochEvents, lookUps } = workerData as SealThreadData
const control = openForReading(dataDir, CONTROL_FILE)
const ledger = openLedger(dataDir)
refuseDamaged(ledger, LEDGER_FILE, STATE_TABLES)
bindLedger(ledger, readEventSecret(control))
const sealer = new Sealer(control, ledger, epochEvents)
const merger = new RunMerger(ledger)
ledger.pragma(`busy_timeout = ${READERS_WAIT_MS}`)
const log = new LogKeeper(ledger, LOG_KEEPING)

const requests: SealRequest[] = []
let isEnding = false
let wake: (() => void) | undefined

lookUps.on('message', (request: SealThreadRequest) => {
  if ('taken' in request) merger.noteTaken(request.taken)
  else requests.push(request)
  wake?.()
})
port.once('message', () => {
  isEnding = true
  wake?.()
})
const runs = readStoredRuns(ledger)
lookUps.postMessage({ runs } satisfies SealStarted, filterBuffers(runs))
port.postMessage('started')
// Only now: the start reads each page once, whereas merging reads, deletes and writes.
keepWorkingPages(ledger)
await work()
control.close()
log.close()
lookUps.close()
port.close()

// Work that finds the disk full changes nothing. Commits go on until too many epochs wait.
async function work(): Promise<void> {
  while (!isEnding) {
    try {
      sealOrMerge()
    } catch (error) {
      if (!isStorageFull(error)) throw error
      await setTimeout(ROOM_CHECK_EVERY_MS)
    }
    const isIdle = requests.length === 0 && merger.isIdle
    if (isIdle && !isEnding) await new Promise<void>((resolve) => (wake = resolve))
    else await setImmediate()
  }
}

function sealOrMerge(): void {
  const [request] = requests
  if (request !== undefined && !merger.isBehind) seal(request)
  else merge()
}

function seal(request: SealRequest): void {
  const sealed = orDamaged(damagedFile(LEDGER_FILE), () => sealer.seal(request))
  requests.shift()
  answer({ sealed, throughSeq: request.throughSeq })
  merger.noteSealed(sealed.run.events)
  log.noteCommitted()
}

/** Damaged data stay where they are, and are reported when a look-up needs them. */
function takeMergeStep(): ReturnType<RunMerger['takeMergeStep']> {
  try {
    return merger.takeMergeStep()
  } catch (error) {
    if (!(error instanceof DamagedData)) throw error
    port?.postMessage({ damage: error.message } satisfies MergeDamage)
    return undefined
  }
}

function merge(): void {
  const merged = takeMergeStep()
  if (merged !== undefined) answer({ merged }, segmentBuffers(merged.segments))
  log.noteCommitted()
}

function answer(message: SealAnswer, handedOver: readonly ArrayBuffer[] = []): void {
  lookUps.postMessage(message, handedOver)
}
