// The seal thread: the only writer of ledger.db. It seals stretches of the journal as they are
// asked for, and in between merges runs and clears away what merges have replaced.

import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import {
  CONTROL_FILE,
  isStorageFull,
  LEDGER_FILE,
  openForReading,
  openForWriting,
} from '../sqlite/database.ts'
import type { SealRequest } from '../sqlite/ledger/ledger.ts'
import { RunMerger } from '../sqlite/ledger/run-merger.ts'
import type { Merge } from '../sqlite/ledger/run-merger.ts'
import { LEDGER_MIGRATIONS, LEDGER_PAGE_BYTES } from '../sqlite/ledger/schema.ts'
import type { LedgerRun } from '../sqlite/ledger/sealed-ledger.ts'
import { Sealer } from '../sqlite/ledger/sealer.ts'

export interface SealThreadData {
  readonly dataDir: string
}

export type SealThreadRequest =
  | SealRequest
  /** The commit thread reads the merged run now, and the old ones no more. */
  | { readonly released: true }
  | { readonly close: true }

export type SealAnswer =
  | { readonly started: true }
  | { readonly sealed: { readonly throughSeq: number; readonly run: LedgerRun } }
  | { readonly merged: Merge }

/** When the disk was full, it is tried again after so long. */
const ROOM_CHECK_EVERY_MS = 2_000

const port = parentPort
if (port === null) throw new Error('BUG: the seal thread is started as a program')

const { dataDir } = workerData as SealThreadData
const control = openForReading(join(dataDir, CONTROL_FILE))
const ledger = openForWriting(join(dataDir, LEDGER_FILE), LEDGER_MIGRATIONS, LEDGER_PAGE_BYTES)
const sealer = new Sealer(control, ledger)
const merger = new RunMerger(ledger)

const requests: SealRequest[] = []
let isClosing = false
let isReleased = true
let wake: (() => void) | undefined
let merging: Generator<undefined, Merge | undefined> | undefined
let clearing: Generator<undefined> | undefined = merger.clear()

port.on('message', (request: SealThreadRequest) => {
  if ('close' in request) isClosing = true
  else if ('released' in request) release()
  else requests.push(request)
  wake?.()
})
port.postMessage({ started: true } satisfies SealAnswer)
await work()
control.close()
ledger.close()
port.close()

async function work(): Promise<void> {
  while (!isClosing) {
    try {
      step()
    } catch (error) {
      if (!isStorageFull(error)) throw error
      await waitForRoom()
    }
    if (isIdle()) await new Promise<void>((resolve) => (wake = resolve))
    else await setImmediate()
  }
}

function step(): void {
  const [request] = requests
  if (request !== undefined) seal(request)
  else if (clearing !== undefined) stepClearing(clearing)
  else if (merging !== undefined && isReleased) stepMerging(merging)
}

// A step that found the disk full has left nothing, but for a run that is not whole. Commits go on
// until too many epochs wait.
async function waitForRoom(): Promise<void> {
  if (merging !== undefined && isReleased) {
    merging = undefined
    clearing = merger.clear()
  }
  await setTimeout(ROOM_CHECK_EVERY_MS)
}

function isIdle(): boolean {
  const mayMerge = merging !== undefined && isReleased
  return !isClosing && requests.length === 0 && clearing === undefined && !mayMerge
}

function seal(request: SealRequest): void {
  const run = sealer.seal(request)
  requests.shift()
  merging ??= merger.merge()
  const answer: SealAnswer = { sealed: { throughSeq: request.throughSeq, run } }
  port?.postMessage(answer, [run.filter.buffer as ArrayBuffer])
}

function stepMerging(steps: Generator<undefined, Merge | undefined>): void {
  const { done, value: merge } = steps.next()
  if (done !== true) return
  merging = undefined
  if (merge === undefined) return
  isReleased = false
  const answer: SealAnswer = { merged: merge }
  port?.postMessage(answer, [merge.run.filter.buffer as ArrayBuffer])
}

function release(): void {
  isReleased = true
  clearing = merger.clear()
}

function stepClearing(steps: Generator<undefined>): void {
  if (steps.next().done !== true) return
  clearing = undefined
  merging ??= merger.merge()
}
