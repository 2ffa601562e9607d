// What threads are started with, and what they tell each other:
//
//   main ─ submissions, commands ─▶ look-up ─ the same, looked up ─▶ commit ─ answers ─▶ main
//                                    ▲   │ ◀─ events to be sealed ────┘
//                     what is sealed │   ▼ events to be sealed
//                                     seal
//
//   main ◀─ what is in the store ─ forward

import type { EventEmitter } from 'node:events'
import type { MessagePort } from 'node:worker_threads'
import type { InfluxTarget } from '../influx/connection.ts'
import type { CommitRequest, CommitSettings } from '../sqlite/commit/commit-channel.ts'
import type { DeletionPass } from '../sqlite/control/sensor-deletion-jobs.ts'
import type { QueueNews } from '../sqlite/journal/journal-queue.ts'
import type { SealRequest } from '../sqlite/ledger/ledger.ts'
import type {
  MergeProgress,
  SealedRun,
  StoredRuns,
  TakenSegments,
} from '../sqlite/ledger/ledger-run.ts'
import type { LogForm, LogLevel } from '../system/log.ts'

/** What a thread runs: a file that exports this. */
export interface Program {
  run(data: object, port: MessagePort): Promise<void>
}

/** A worker, or what is like one: it has the same events, and ends when its port is closed. */
export interface Thread extends EventEmitter {
  postMessage(message: unknown): void
  terminate(): Promise<unknown>
}

/** @param transferList ports among the data */
export type StartThread = (program: URL, data: object, transferList?: MessagePort[]) => Thread

export interface WorkerOrder {
  readonly program: string
  readonly data: object
}

export interface LookUpThreadData {
  readonly dataDir: string
  /** Receives what is meant for the commit thread. */
  readonly requests: MessagePort
  readonly commits: MessagePort
  readonly seals: MessagePort
}

export type LookUpAnswer =
  /** A group that has been looked up. */
  CommitRequest | { readonly sealedThroughSeq: number }

export interface CommitThreadData extends CommitSettings {
  /** Receives looked-up requests, and sends events to be sealed. */
  readonly lookUps: MessagePort
}

export interface SealThreadData {
  readonly dataDir: string
  readonly epochEvents: number
  /** Receives requests to seal, and reports what is sealed. */
  readonly lookUps: MessagePort
}

export type SealThreadRequest = SealRequest | { readonly taken: TakenSegments }

/** The first message to the look-up thread: nothing has been merged since the start. */
export interface SealStarted {
  readonly runs: StoredRuns
}

/** To the main thread: what is damaged, so that a merge stays where it is. */
export interface MergeDamage {
  readonly damage: string
}

export type SealAnswer =
  { readonly sealed: SealedRun; readonly throughSeq: number } | { readonly merged: MergeProgress }

export interface ForwardThreadData {
  readonly dataDir: string
  readonly logLevel: LogLevel
  /** For standard output. */
  readonly logForm: LogForm
  /** `undefined`: the embedded measurement store. */
  readonly influx: InfluxTarget | undefined
  /** Shared: 1 while this thread sleeps until it is woken for new rows. */
  readonly isIdle: Int32Array
}

export type ForwardRequest =
  { readonly committed: true } | { readonly wanted: true } | { readonly close: true }

export type ForwardAnswer =
  | { readonly started: true }
  | QueueNews
  /** A write failed, or the store accepts measurements again. */
  | { readonly isStoreWorking: boolean }
  | { readonly deletionPass: DeletionPass }
