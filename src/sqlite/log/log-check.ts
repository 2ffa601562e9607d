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

/**
 * Compares a log with the witness and with itself. Changes nothing.
 *
 * @param db only reads the file, and has not read anything yet unless a service runs
 * @returns `undefined` if nothing is missing
 */
export function checkLog(dataDir: string, name: string, db: Connection): Finding | undefined {
  const problem = problemOf(lookAt(dataDir, name, db), name !== MEASUREMENTS_FILE)
  if (problem === undefined) return undefined
  // People and daemons go on from what control.db knows; the other files must know all of that.
  const remedy = name === CONTROL_FILE ? ACCEPT_LOSS : RESTORE_BACKUP
  return { check: 'log', where: `${name}-wal`, problem, remedy }
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

function problemOf({ walked, frames, durable }: Look, isEachSynced: boolean): string | undefined {
  const problem = durable === undefined ? undefined : lossOf(walked, frames, durable)
  if (problem !== undefined || walked === undefined || !isEachSynced) return problem
  if (walked.salts === undefined) return 'its head is damaged, so that nothing of it can be read'
  const lost = walked.commits.filter((frame) => frame > frames).length
  if (lost < 2) return undefined
  return `it can be read up to frame ${frames}, and then is damaged, with ${lost} commits behind it`
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
