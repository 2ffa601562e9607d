// A fault in the stored data, as a check reports it: where, what, and what to do.

import { DAY_MS, floorToWindow, formatInstant } from './time.ts'

/** What was compared with what. */
export type CheckName =
  | 'file'
  | 'log'
  | 'journal'
  | 'ledger'
  | 'control'
  | 'counts'
  | 'summaries'
  | 'latest'
  | 'deleted_sensors'

export interface Finding {
  readonly check: CheckName
  /** A file in DATA_DIR, the database, or the name of the measurement store. */
  readonly where: string
  readonly sensorId?: number
  /** The start of a UTC day. */
  readonly dayMs?: number
  readonly problem: string
  /** What to do, as a sentence. */
  readonly remedy: string
}

export type Report = (finding: Finding) => void

/** The remedy for a damaged file that cannot be rebuilt from what is left. */
export const RESTORE_BACKUP =
  'Stop the service, keep a copy of DATA_DIR, and restore the last backup: `store.id` is new ' +
  'then, and daemons send again what they still have.'

/** The remedy where control.db has lost its end, and with it perhaps what was acknowledged. */
export const ACCEPT_LOSS =
  'Stop the service and keep a copy of DATA_DIR. Then restore the last backup, or go on without ' +
  'what is lost: `thermolog database restored`. `store.id` is new in either case, and daemons ' +
  'send again what they still have.'

/** The remedy where a measurement store of our own lacks measurements. */
export const RESTORE_PART =
  'Restore a backup elsewhere, export this part there and import it here; else it is lost.'

/** The fault where new measurements would overwrite stored ones: at `atMs`, of so many times. */
export function describeTaken(atMs: number, times: number) {
  const others = times === 1 ? '' : `, and so at ${times - 1} other times`
  const what = 'would get the tie-break of one that is stored'
  const problem = `a new measurement of ${formatInstant(atMs)} ${what}${others}`
  return { check: 'ledger' as const, dayMs: floorToWindow(atMs, DAY_MS), problem }
}

/** A finding as one line. */
export function describeFinding(finding: Finding): string {
  const { where, sensorId, dayMs, problem, remedy } = finding
  const place = [where]
  if (sensorId !== undefined) place.push(`sensor ${sensorId}`)
  if (dayMs !== undefined) place.push(formatDay(dayMs))
  return `${place.join(', ')}: ${problem}. ${remedy}`
}

/** `2026-11-20`. */
export function formatDay(dayMs: number): string {
  return formatInstant(dayMs).slice(0, 10)
}
