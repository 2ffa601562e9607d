// What the core needs from the machine: time, a log, disk space, and metrics.

import type { ErrorCode } from '../domain/errors.ts'

export interface Clock {
  /** Wall time: may jump. For dates. */
  nowMs(): number
  /** Never goes back; its zero has no meaning. For durations. */
  monotonicMs(): number
}

/** The clocks of the machine itself. */
export interface MachineClock extends Clock {
  /** Since the machine was started, suspension included; nobody sets it. */
  uptimeMs(): number
}

/** One structured line per event; values are plain and free of secrets. */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  /** Degraded; logged once per change of state. */
  warn(message: string, fields?: LogFields): void
  /** A person is needed. */
  error(message: string, fields?: LogFields): void
}

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** The volume of DATA_DIR. */
export interface StorageState {
  /** Whether too little space is left to accept anything. */
  readonly isLow: boolean
  /** What it has and what it needs, for everyone; where it is, for operators. */
  describe(): { readonly detail: string; readonly hint: string }
}

/** The database that several processes share. */
export interface DatabaseState {
  /** Which process this is. */
  readonly process: string
  /** `PostgreSQL 15.18` */
  readonly server: string
  /** What the database is called there. */
  readonly name: string
  /** What has what is acknowledged: the primary, or a synchronous standby as well. */
  readonly durability: 'local' | 'replicated'
  /** What an operator should know; none: all is well. */
  readonly warnings: string[]
}

/** Whether the clock of this machine is believed. */
export interface ClockWatch {
  /** `undefined`: it is. */
  readonly doubt: ClockDoubt | undefined
  /** What an operator should know although it is believed. */
  readonly warning?: string | undefined
  /** Whether a time was read from the clock as it is believed now, and not before it was moved. */
  isOfNow(atMs: number): boolean
}

/** Why the clock is not believed, for everyone, and what to do, for operators. */
export interface ClockDoubt {
  readonly detail: string
  readonly hint?: string
}

/** The clock that data in DATA_DIR go by. */
export interface OwnClock {
  /**
   * An operator says that the clock is right, although it is before the newest receipt: durable
   * when it resolves. @returns when that was, by the clock of then; `undefined`: there is none
   */
  accept(): Promise<number | undefined>
  /** Calls back when the wall clock was moved, and is believed. @param byMs ahead, or back */
  onMoved(call: (byMs: number) => void): void
}

/** The database as far as this process can tell. */
export interface DatabaseWatch extends ClockWatch {
  readonly state: DatabaseState
  /** Why nothing can be acknowledged now. */
  readonly fault: string | undefined
}

/** Events counted for an operator's monitoring. Counting never fails, waits or blocks. */
export interface Metrics {
  /** A group of submissions was decided, and everything new is on disk. */
  noteGroup(group: CommittedGroup): void
  /** A batch has reached the measurement store. */
  noteForwarded(count: ForwardedCount): void
  /** It was written in this time. */
  noteForwardDuration(durationMs: number): void
  /**
   * A request was answered.
   *
   * @param route method and pattern of its URL, from a bounded set: `GET /healthz`
   */
  noteAnswer(route: string, status: number): void
  /** A body of line protocol was decided. */
  noteLinePoints(points: LinePoints): void
  /** A submission was answered with a problem. */
  noteRefusedSubmission(code: ErrorCode): void
}

/** Metrics: what was counted, and the current state, read at each scrape. */
export interface MetricsSource {
  render(): Promise<{ type: string; text: string }>
  /** Counts open subscriptions from now on. */
  watchSubscriptions(count: () => number): void
  /** Says which version runs. */
  nameBuild(version: string): void
}

/** The outcome of a group's measurements. */
export interface CommittedGroup {
  readonly created: number
  readonly duplicate: number
  readonly conflict: number
  /** From handing the group over until it is on disk. */
  readonly durationMs: number
}

/** The outcome of a body of line protocol. */
export interface LinePoints {
  /** Measurements. */
  readonly created: number
  readonly duplicates: number
  /** Points without a temperature. */
  readonly skipped: number
  /** Measurements of points without a time. */
  readonly unkeyed: number
  /** Lines. */
  readonly refused: number
}

export interface ForwardedCount {
  readonly accepted: number
  readonly setAside: number
}

/** Told how far a long command is, step by step. */
export interface WorkProgress {
  /** @param total the sum of all calls of `advance`, each of a `noun`, in the singular */
  begin(what: string, total: number, noun: string): void
  advance(amount: number): void
}
