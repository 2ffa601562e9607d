// Moving a DATA_DIR into a database. Its journal is emptied first, then its tables are copied; a
// move that was killed goes on where it was. Only when both sides have been counted is the
// directory closed, and only then does the database open: at no moment can both be served.
//
// A directory that was served between two attempts is copied from the beginning.

import { randomUUID } from 'node:crypto'
import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import { formatInstant } from '../domain/time.ts'
import { failed } from '../operations/operations.ts'
import { bucketOf } from '../domain/bucket.ts'
import { withoutPassword } from '../postgres/connection.ts'
import { codeOf } from '../postgres/failures.ts'
import { migrate } from '../postgres/migrate.ts'
import { MoveTarget, UnfitTarget } from '../postgres/move/move-target.ts'
import { checkServer } from '../postgres/server-check.ts'
import { lockDataDir, refuseUnfinishedRestore } from '../sqlite/data-dir-lock.ts'
import type { DataDirLock } from '../sqlite/data-dir-lock.ts'
import { MovedData } from '../sqlite/move/moved-data.ts'
import { systemClock } from '../system/clock.ts'
import {
  noteMoved,
  noteMoving,
  readMoved,
  readMoving,
  refuseMoved,
} from '../system/moved-data-dir.ts'
import { compareSides } from './compare-sides.ts'
import { ownDrained } from './own-drained.ts'

export interface MoveProgress {
  /** @param total the sum of everything `advance` will report */
  begin(what: string, total: number, counted: string): void
  advance(count: number): void
}

export interface MoveOutcome {
  /** Where the data are, without its password. */
  readonly database: string
  /** Rows by table; none when only the end of a move was missing. */
  readonly rows: Readonly<Record<string, number>>
}

type Database = NonNullable<Config['database']>

interface Moving {
  readonly config: Config
  readonly target: MoveTarget
  readonly database: string
  readonly progress: MoveProgress
}

/**
 * Moves everything. Owns DATA_DIR meanwhile.
 *
 * @throws UnfitSettings if the database cannot take the data
 * @throws OperationError when it was interrupted, or the two sides differ: DATA_DIR keeps its data
 */
export async function moveToDatabase(
  config: Config,
  to: Database,
  progress: MoveProgress,
): Promise<MoveOutcome> {
  try {
    const target = await openTarget(to)
    try {
      const database = withoutPassword(to.url)
      const rows = await move({ config, target, database, progress })
      return { database, rows }
    } finally {
      await target.close()
    }
  } catch (error) {
    throw asFailure(error)
  }
}

async function openTarget({ url, durability }: Database): Promise<MoveTarget> {
  const { faults } = await checkServer(url, durability)
  if (faults.length > 0) throw new UnfitTarget(faults.join('; '))
  await migrate(url)
  return MoveTarget.open(url, durability)
}

async function move(moving: Moving): Promise<MoveOutcome['rows']> {
  const { config, target } = moving
  const { dataDir } = config
  if ((await readMoved(dataDir)) !== undefined) {
    await finishMoved(moving)
    return {}
  }
  const { lock, attempt } = await beginOrResume(moving)
  try {
    const data = new MovedData(dataDir, bucketOf)
    try {
      const rows = await moveTables(moving, data, attempt)
      await checkSides(moving, data)
      await closeDirectory(moving)
      await target.openDatabase()
      return rows
    } finally {
      data.close()
    }
  } finally {
    lock.release()
  }
}

/** The directory is closed, and the database may still have to be opened. */
async function finishMoved({ config, target }: Moving): Promise<void> {
  const data = new MovedData(config.dataDir, bucketOf)
  const { id } = data.identity
  data.close()
  if ((await target.readStoreId()) !== id) await refuseMoved(config.dataDir)
  if ((await target.readState()) !== undefined) await target.openDatabase()
}

interface Owned {
  readonly lock: DataDirLock
  readonly attempt: string
}

async function beginOrResume(moving: Moving): Promise<Owned> {
  const { config, target } = moving
  const { dataDir } = config
  const lock = lockDataDir(dataDir)
  refuseUnfinishedRestore(dataDir)
  const attempt = await readMoving(dataDir)
  if (attempt !== undefined && (await target.readState())?.attempt === attempt) {
    return { lock, attempt }
  }
  lock.release()
  return begin(moving)
}

async function begin({ config, target, progress }: Moving): Promise<Owned> {
  const { dataDir } = config
  const lock = await ownDrained(config, {
    begin: (what, total) => progress.begin(what, total, 'measurements'),
    advance: (measurements) => progress.advance(measurements),
  })
  try {
    const attempt = randomUUID()
    await noteMoving(dataDir, attempt)
    const data = new MovedData(dataDir, bucketOf)
    try {
      await target.begin(data.identity.id, attempt, data.days)
    } finally {
      data.close()
    }
    return { lock, attempt }
  } catch (error) {
    lock.release()
    throw error
  }
}

async function moveTables(
  { target, progress }: Moving,
  data: MovedData,
  attempt: string,
): Promise<MoveOutcome['rows']> {
  const rows: Record<string, number> = {}
  for (const table of data.tables) {
    const total = table.total()
    rows[table.name] = total
    progress.begin(`moving ${table.name}`, total, 'rows')
    await target.moveRows(attempt, table, (moved) => progress.advance(moved))
  }
  progress.begin('making the index of events', 1, 'index')
  await target.finishData(attempt, data)
  return rows
}

async function checkSides({ target, progress }: Moving, data: MovedData): Promise<void> {
  const measurements = data.tables.find(({ name }) => name === 'measurements')
  progress.begin('comparing', measurements?.total() ?? 0, 'measurements')
  const advance = (compared: number) => progress.advance(compared)
  const differences = await compareSides({ source: data, target, advance })
  if (differences.length === 0) return
  const hint = 'DATA_DIR keeps its data. Make the database anew, and run the command again.'
  throw failed(`the two sides differ:\n  ${differences.join('\n  ')}`, hint)
}

async function closeDirectory({ config, database }: Moving): Promise<void> {
  await noteMoved(config.dataDir, { database, at: formatInstant(systemClock.nowMs()) })
}

function asFailure(error: unknown): unknown {
  if (error instanceof UnfitTarget) {
    return new UnfitSettings(`the database of --to cannot take the data: ${error.message}`)
  }
  if (!(error instanceof Error) || !isOfServer(error)) return error
  const hint = 'Run the command again: it goes on where it stopped.'
  return failed(`the database of --to fails: ${error.message}`, hint, { cause: error })
}

/** Files have errors with codes, too. */
function isOfServer(error: NodeJS.ErrnoException): boolean {
  const isOfNetwork = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI)/.test(error.code ?? '')
  return codeOf(error) !== undefined || isOfNetwork || /connection|timeout/i.test(error.message)
}
