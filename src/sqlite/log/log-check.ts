// Whether SQLite can read all of a file's log that was durable. It does not tell: it takes a frame
// that is not as it was written for the log's end, and drops all later commits.
//
// Two signs are looked for. The log ends before the place up to which the witness knows it durable.
// Or, where each commit was synced before the next was written, a frame that cannot be read is
// followed by the end of its own commit and by a whole further one: a power cut can tear the last
// commit, and no other.

import { join } from 'node:path'
import { ACCEPT_LOSS, RESTORE_BACKUP } from '../../domain/finding.ts'
import type { Finding } from '../../domain/finding.ts'
import { CONTROL_FILE, MEASUREMENTS_FILE } from '../database.ts'
import type { Connection } from '../database.ts'
import { readWitness } from './witness.ts'
import { findSalts, restartsBetween, walkLog } from './write-ahead-log.ts'
import type { LogPosition, WalkedLog } from './write-ahead-log.ts'

/** While a service runs, its log may be begun anew, or go, between two looks. */
const LOOKS_MAX = 10

/** The witness is a second late at most; a restart follows megabytes of commits, or a start. */
const RESTARTS_MAX = 2 ** 20

interface Look {
  readonly walked: WalkedLog | undefined
  /** Frames up to the last commit that SQLite can read. */
  readonly frames: number
  readonly durable: LogPosition | undefined
}

export interface CheckedLog {
  /** `undefined`: nothing is missing. */
  readonly finding: Finding | undefined
  /** Whether a commit that a power cut has torn lies behind its end. */
  readonly isTorn: boolean
}

/**
 * Compares a log with the witness and with itself. Changes nothing.
 *
 * @param db only reads the file, and has not read anything yet unless a service runs
 */
export function checkLog(dataDir: string, name: string, db: Connection): CheckedLog {
  const look = lookAt(dataDir, name, db)
  const lostCommits = look.walked?.commits.filter((frame) => frame > look.frames).length ?? 0
  const problem = problemOf(look, name === MEASUREMENTS_FILE ? undefined : lostCommits)
  const isTorn = lostCommits > 0
  if (problem === undefined) return { finding: undefined, isTorn }
  // People and daemons go on from what control.db knows; the other files must know all of that.
  const remedy = name === CONTROL_FILE ? ACCEPT_LOSS : RESTORE_BACKUP
  return { finding: { check: 'log', where: `${name}-wal`, problem, remedy }, isTorn }
}

function lookAt(dataDir: string, name: string, db: Connection): Look {
  const file = join(dataDir, name)
  for (let look = 1; ; look++) {
    const durable = readWitness(dataDir, name)
    const walked = walkLog(file)
    // Its first read of the file makes SQLite read the log.
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    const { log } = db.prepare<[], { log: number }>('PRAGMA wal_checkpoint(NOOP)').get() ?? {}
    const isSame = findSalts(file) === walked?.foundSalts
    const isCleared = durable !== undefined && readWitness(dataDir, name) === undefined
    if ((isSame && !isCleared) || look === LOOKS_MAX) {
      return { walked, frames: Math.max(0, log ?? 0), durable }
    }
  }
}

/** @param lostCommits `undefined`: not each was synced before the next, so they say nothing */
function problemOf(
  { walked, frames, durable }: Look,
  lostCommits: number | undefined,
): string | undefined {
  const problem = durable === undefined ? undefined : lossOf(walked, frames, durable)
  if (problem !== undefined || walked === undefined || lostCommits === undefined) return problem
  if (walked.salts === undefined) return 'its head is damaged, so that nothing of it can be read'
  if (lostCommits < 2) return undefined
  const damaged = `then is damaged, with ${lostCommits} commits behind it`
  return `it can be read up to frame ${frames}, and ${damaged}`
}

function lossOf(
  walked: WalkedLog | undefined,
  frames: number,
  durable: LogPosition,
): string | undefined {
  const were = `${durable.frames} frames of it were on disk`
  if (walked === undefined) return `it is missing, and ${were}`
  const { salts = durable.salts } = walked
  if (salts !== durable.salts) {
    const isLater = restartsBetween(durable.salts, salts) <= RESTARTS_MAX
    return isLater ? undefined : `it is an earlier log, or another file's, and ${were}`
  }
  return frames < durable.frames ? `it can be read up to frame ${frames}, but ${were}` : undefined
}
