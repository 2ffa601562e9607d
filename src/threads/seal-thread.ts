// The seal thread: the only writer of ledger.db. It seals stretches of the journal as they are
// asked for, and in between merges runs.

import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import {
  CONTROL_FILE,
  isStorageFull,
  keepWorkingPages,
  LEDGER_FILE,
  openForReading,
  openForWriting,
} from '../sqlite/database.ts'
import type { SealRequest } from '../sqlite/ledger/ledger.ts'
import type {
  MergeProgress,
  NumberedSegment,
  SealedRun,
  StoredRuns,
} from '../sqlite/ledger/ledger-run.ts'
import { LogKeeper } from '../sqlite/ledger/log-keeper.ts'
import { EVENT_BYTES } from '../sqlite/ledger/run-block.ts'
import { RunMerger } from '../sqlite/ledger/run-merger.ts'
import { LEDGER_MIGRATIONS, LEDGER_PAGE_BYTES } from '../sqlite/ledger/schema.ts'
import { readStoredRuns } from '../sqlite/ledger/stored-runs.ts'
import { Sealer } from '../sqlite/ledger/sealer.ts'

export interface SealThreadData {
  readonly dataDir: string
  readonly epochEvents: number
}

export type SealThreadRequest =
  | SealRequest
  /** Segments below it are looked for in the run that is being merged into, and nowhere else. */
  | { readonly takenSegment: number }
  | { readonly close: true }

/** The first answer; nothing has been merged before it since the start. */
export interface SealStarted {
  readonly started: StoredRuns
}

export type SealAnswer =
  | SealStarted
  | { readonly sealed: SealedRun; readonly throughSeq: number }
  | { readonly merged: MergeProgress }

/** When the disk was full, it is tried again after so long. */
const ROOM_CHECK_EVERY_MS = 2_000

const port = parentPort
if (port === null) throw new Error('BUG: the seal thread is started as a program')

const { dataDir, epochEvents } = workerData as SealThreadData
const control = openForReading(join(dataDir, CONTROL_FILE))
const ledger = openForWriting(join(dataDir, LEDGER_FILE), LEDGER_MIGRATIONS, LEDGER_PAGE_BYTES)
const sealer = new Sealer(control, ledger, epochEvents)
const merger = new RunMerger(ledger)
const log = new LogKeeper(ledger)

const requests: SealRequest[] = []
let isClosing = false
let wake: (() => void) | undefined

port.on('message', (request: SealThreadRequest) => {
  if ('close' in request) isClosing = true
  else if ('takenSegment' in request) merger.noteTaken(request.takenSegment)
  else requests.push(request)
  wake?.()
})
start()
// Not before: what a start reads, it reads once. A step of a merge reads, deletes and writes.
keepWorkingPages(ledger)
await work()
control.close()
ledger.close()
port.close()

// The filters of cohorts are most of the ledger's memory: they are transferred, not copied.
function start(): void {
  const started = readStoredRuns(ledger, merger.progress)
  answer(
    { started },
    started.cohorts.flatMap((cohort) => buffersOf(cohort.segments)),
  )
}

// A step that found the disk full has changed nothing. Commits go on until too many epochs wait.
async function work(): Promise<void> {
  while (!isClosing) {
    try {
      step()
    } catch (error) {
      if (!isStorageFull(error)) throw error
      await setTimeout(ROOM_CHECK_EVERY_MS)
    }
    const isIdle = requests.length === 0 && merger.isIdle
    if (isIdle && !isClosing) await new Promise<void>((resolve) => (wake = resolve))
    else await setImmediate()
  }
}

function step(): void {
  const [request] = requests
  if (request !== undefined && !merger.isBehind) seal(request)
  else merge()
}

function seal(request: SealRequest): void {
  const sealed = sealer.seal(request)
  requests.shift()
  answer({ sealed, throughSeq: request.throughSeq })
  merger.noteSealed(sealed.run.events)
  log.noteWritten(sealed.run.events * EVENT_BYTES)
}

function merge(): void {
  const { merged, bytes } = merger.step()
  if (merged !== undefined) answer({ merged }, buffersOf(merged.segments))
  // Last: it may find the disk full.
  log.noteWritten(bytes)
}

function buffersOf(segments: readonly NumberedSegment[]): ArrayBuffer[] {
  return segments.map(({ segment }) => segment.buffer)
}

function answer(message: SealAnswer, handedOver: readonly ArrayBuffer[] = []): void {
  port?.postMessage(message, handedOver)
}
