// Commits groups in a temporary directory, in this thread: with the pieces that the look-up, commit
// and seal threads are made of, so that a test can stop between any two of them.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Submission } from '../../src/domain/measurement.ts'
import { CONTROL_MIGRATIONS } from '../../src/sqlite/control/schema.ts'
import { DamagedData, openForWriting, refuseDamaged } from '../../src/sqlite/database.ts'
import type { Connection } from '../../src/sqlite/database.ts'
import { Committer } from '../../src/sqlite/commit/committer.ts'
import type { AcceptanceRules } from '../../src/domain/acceptance.ts'
import { GroupBuilder } from '../../src/sqlite/commit/submission-committer.ts'
import { allocateGroup } from '../../src/sqlite/commit/group-frame.ts'
import { lookUpGroup } from '../../src/sqlite/commit/group-look-up.ts'
import type { GroupResult } from '../../src/sqlite/commit/group-frame.ts'
import {
  bindLedger,
  EventKeyCipher,
  makeEventSecret,
  readEventSecret,
} from '../../src/sqlite/event-key.ts'
import { Ledger } from '../../src/sqlite/ledger/ledger.ts'
import type { SealRequest } from '../../src/sqlite/ledger/ledger.ts'
import type { MergeProgress } from '../../src/sqlite/ledger/ledger-run.ts'
import { RunMerger } from '../../src/sqlite/ledger/run-merger.ts'
import { openLedger, STATE_TABLES } from '../../src/sqlite/ledger/schema.ts'
import { SealedEvents } from '../../src/sqlite/ledger/sealed-events.ts'
import { Sealer } from '../../src/sqlite/ledger/sealer.ts'
import { LogKeeper } from '../../src/sqlite/log/log-keeper.ts'
import { readStoredRuns } from '../../src/sqlite/ledger/stored-runs.ts'

const PERMISSIVE: AcceptanceRules = {
  mayRegisterSensors: true,
  sensorsPerUserMax: 1_000,
  futureMsMax: 300_000,
  measuredAtMsMin: 0,
}

/** Few runs, so that small epochs bring about many merges, each of several merge steps. */
const MERGE_PLAN = { runs: 4, eventsPerMergeStep: 96 }

const LOG_KEEPING = { bytesMax: 2 ** 20, mode: 'PASSIVE' } as const

/** Merge steps that the reader has not heard of. */
const MERGE_STEPS_UNTOLD = 2

/** A result with the columns of its elements. */
export interface DecidedGroup extends GroupResult {
  readonly status: Uint8Array
  readonly sensorId: Uint32Array
  readonly measuredAtMs: Float64Array
}

export class CommitterBench {
  readonly dir = mkdtempSync(join(tmpdir(), 'thermolog-committer-'))
  readonly settings: AcceptanceRules
  readonly epochEvents: number
  control!: Connection
  ledgerFile!: Connection
  ledger!: Ledger
  sealedEvents!: SealedEvents
  committer!: Committer
  nowMs = 1_800_000_000_000
  /** Passes with each look at the clock. */
  lookMs = 0
  #monotonicMs = 0
  #requests: SealRequest[] = []
  #sealer: Sealer | undefined
  #cipher!: EventKeyCipher
  #merger!: RunMerger
  /** What merges have met that is damaged. */
  readonly damaged: string[] = []
  /** Merge steps that the reader has not been told of. */
  #untold: MergeProgress[] = []
  #logs!: { readonly control: LogKeeper; readonly ledger: LogKeeper }

  constructor(settings: Partial<AcceptanceRules> = {}, epochEvents = 64) {
    this.settings = { ...PERMISSIVE, ...settings }
    this.epochEvents = epochEvents
    this.open()
  }

  open(): void {
    this.control = openForWriting(join(this.dir, 'control.db'), CONTROL_MIGRATIONS)
    this.ledgerFile = openLedger(this.dir)
    this.#logs = {
      control: new LogKeeper(this.control, LOG_KEEPING),
      ledger: new LogKeeper(this.ledgerFile, LOG_KEEPING),
    }
    refuseDamaged(this.control, 'control.db')
    refuseDamaged(this.ledgerFile, 'ledger.db', STATE_TABLES)
    makeEventSecret(this.control)
    const secret = readEventSecret(this.control)
    bindLedger(this.ledgerFile, secret)
    this.#cipher = new EventKeyCipher(secret)
    this.#requests = []
    this.#untold = []
    this.#sealer = undefined
    this.#merger = new RunMerger(this.ledgerFile, MERGE_PLAN)
    const files = { control: this.control, ledger: this.ledgerFile }
    const storedRuns = readStoredRuns(this.ledgerFile)
    const requestSeal = (request: SealRequest) => this.#requests.push(request)
    this.sealedEvents = new SealedEvents(this.ledgerFile, storedRuns)
    this.ledger = new Ledger(files, this.epochEvents, requestSeal)
    const clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs }
    const settings = { ...this.settings, replayRetention: undefined }
    this.committer = new Committer(this.control, this.ledger, clock, settings)
  }

  /** Forgets everything in memory, as a killed process does, and starts again from the files. */
  crash(whileDown = () => {}): void {
    this.control.close()
    this.ledgerFile.close()
    whileDown()
    this.open()
  }

  commit(submissions: readonly Submission[]): DecidedGroup {
    const group = new GroupBuilder(allocateGroup())
    for (const submission of submissions) group.add(submission)
    const frame = group.finish()
    const monotonicMs = () => (this.#monotonicMs += this.lookMs)
    const lookedUp = lookUpGroup(frame, this.#cipher, this.sealedEvents, monotonicMs)
    const result = this.committer.commit(lookedUp)
    this.#logs.control.noteCommitted()
    const { status, sensorId, measuredAtMs } = group.columns
    const { elementCount } = frame
    return {
      ...result,
      status: status.slice(0, elementCount),
      sensorId: sensorId.slice(0, elementCount),
      measuredAtMs: measuredAtMs.slice(0, elementCount),
    }
  }

  /**
   * Does what the seal thread does: seals what is asked for, and merges. The reader hears of
   * the merge steps late, as a busy one does.
   *
   * @param mergeStepsMax stops in the middle of a merge after so many merge steps
   */
  seal(mergeStepsMax = Infinity): void {
    this.#sealer ??= new Sealer(this.control, this.ledgerFile, this.epochEvents)
    for (const request of this.#requests.splice(0)) {
      const sealed = this.#sealer.seal(request)
      this.sealedEvents.addRun(sealed)
      this.ledger.noteSealed(request.throughSeq)
      this.#merger.noteSealed(sealed.run.events)
      this.#logs.ledger.noteCommitted()
    }
    for (let step = 0; step < mergeStepsMax; step++) {
      if (this.#merger.isIdle) this.#tellReader(0)
      if (this.#merger.isIdle) return
      const merged = this.#mergeStepOrDamage()
      this.#logs.ledger.noteCommitted()
      if (merged !== undefined) this.#untold.push(merged)
      this.#tellReader(MERGE_STEPS_UNTOLD)
    }
  }

  #mergeStepOrDamage(): MergeProgress | undefined {
    try {
      return this.#merger.takeMergeStep()
    } catch (error) {
      if (!(error instanceof DamagedData)) throw error
      this.damaged.push(error.message)
      return undefined
    }
  }

  #tellReader(untoldMax: number): void {
    while (this.#untold.length > untoldMax) {
      const merged = this.#untold.shift()
      if (merged === undefined) return
      this.sealedEvents.noteMerged(merged)
      this.#merger.noteTaken({ runNo: merged.run.runNo, stopSegment: merged.stopSegment })
    }
  }

  close(): void {
    this.control.close()
    this.ledgerFile.close()
    rmSync(this.dir, { recursive: true })
  }
}
