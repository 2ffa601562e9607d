// The seal thread: the only writer of ledger.db. It seals parts of the journal on request, and
// merges runs in between.

import { once } from 'node:events'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'
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

export async function run(data: SealThreadData, port: MessagePort): Promise<void> {
  await once(port, 'message')
  const { dataDir, epochEvents, lookUps } = data
  const control = openForReading(dataDir, CONTROL_FILE)
  const ledger = openLedger(dataDir)
  refuseDamaged(ledger, LEDGER_FILE, STATE_TABLES)
  bindLedger(ledger, readEventSecret(control))
  const sealer = new Sealer(control, ledger, epochEvents)
  const merger = new RunMerger(ledger)
  ledger.pragma(`busy_timeout = ${READERS_WAIT_MS}`)
  const log = new LogKeeper(ledger, LOG_KEEPING)
  const work = new Work({ sealer, merger, log, lookUps, port })
  const runs = readStoredRuns(ledger)
  lookUps.postMessage({ runs } satisfies SealStarted, filterBuffers(runs))
  port.postMessage('started')
  // Only now: the start reads each page once, whereas merging reads, deletes and writes.
  keepWorkingPages(ledger)
  await work.untilEnd()
  control.close()
  log.close()
  lookUps.close()
  port.close()
}

interface Collaborators {
  readonly sealer: Sealer
  readonly merger: RunMerger
  readonly log: LogKeeper
  readonly lookUps: MessagePort
  readonly port: MessagePort
}

class Work {
  readonly #with: Collaborators
  readonly #requests: SealRequest[] = []
  #isEnding = false
  #wake: (() => void) | undefined

  constructor(collaborators: Collaborators) {
    this.#with = collaborators
    const { merger, lookUps, port } = collaborators
    lookUps.on('message', (request: SealThreadRequest) => {
      if ('taken' in request) merger.noteTaken(request.taken)
      else this.#requests.push(request)
      this.#wake?.()
    })
    port.once('message', () => {
      this.#isEnding = true
      this.#wake?.()
    })
  }

  // Work that finds the disk full changes nothing. Commits go on until too many epochs wait.
  async untilEnd(): Promise<void> {
    while (!this.#isEnding) {
      try {
        this.#sealOrMerge()
      } catch (error) {
        if (!isStorageFull(error)) throw error
        await setTimeout(ROOM_CHECK_EVERY_MS)
      }
      const isIdle = this.#requests.length === 0 && this.#with.merger.isIdle
      if (isIdle && !this.#isEnding) await new Promise<void>((resolve) => (this.#wake = resolve))
      else await setImmediate()
    }
  }

  #sealOrMerge(): void {
    const [request] = this.#requests
    if (request !== undefined && !this.#with.merger.isBehind) this.#seal(request)
    else this.#merge()
  }

  #seal(request: SealRequest): void {
    const { sealer, merger, log } = this.#with
    const sealed = orDamaged(damagedFile(LEDGER_FILE), () => sealer.seal(request))
    this.#requests.shift()
    this.#answer({ sealed, throughSeq: request.throughSeq })
    merger.noteSealed(sealed.run.events)
    log.noteCommitted()
  }

  #merge(): void {
    const merged = this.#takeMergeStep()
    if (merged !== undefined) this.#answer({ merged }, segmentBuffers(merged.segments))
    this.#with.log.noteCommitted()
  }

  /** Damaged data stay where they are, and are reported when a look-up needs them. */
  #takeMergeStep(): ReturnType<RunMerger['takeMergeStep']> {
    try {
      return this.#with.merger.takeMergeStep()
    } catch (error) {
      if (!(error instanceof DamagedData)) throw error
      this.#with.port.postMessage({ damage: error.message } satisfies MergeDamage)
      return undefined
    }
  }

  #answer(message: SealAnswer, handedOver: readonly ArrayBuffer[] = []): void {
    this.#with.lookUps.postMessage(message, handedOver)
  }
}
