// Moving a DATA_DIR into a database. Its journal is emptied first, then its tables are copied; a
// move that was interrupted begins again. Only when both sides have been counted is the directory
// closed, and only then does the database open: at no moment can both be served.

import { UnfitSettings } from '../config.ts'
import type { Config, DatabaseConfig } from '../config.ts'
import { formatInstant } from '../domain/time.ts'
import { failed } from '../operations/failure.ts'
import type { WorkProgress } from '../ports/system.ts'
import { withoutPassword } from '../postgres/server/connection.ts'
import { codeOf } from '../postgres/server/failures.ts'
import { migrate } from '../postgres/server/migrate.ts'
import { MoveTarget, UnfitTarget } from '../postgres/move/move-target.ts'
import { checkServer } from '../postgres/server/server-check.ts'
import { MovedData } from '../sqlite/move/moved-data.ts'
import { lockSealed } from '../sqlite/move/seal-journal.ts'
import { systemClock } from '../system/clock.ts'
import { noteMoved, readMoved, refuseMoved } from '../system/data-dir.ts'
import type { MovedTo } from '../system/data-dir.ts'
import { compareMovedDays } from './compare-days.ts'
import { openDrained } from './own-drained.ts'

interface MoveOutcome {
  /** Where the data are, without its password. */
  readonly database: string
  /** Rows by table; none when only the end of a move was missing. */
  readonly rows: Readonly<Record<string, number>>
}

interface Moving {
  readonly config: Config
  readonly to: DatabaseConfig
  readonly target: MoveTarget
  readonly database: string
  readonly progress: WorkProgress
}

/**
 * Moves everything. Owns DATA_DIR meanwhile.
 *
 * @throws UnfitSettings if the database cannot take the data
 * @throws OperationError when it was interrupted, or the two sides differ: DATA_DIR keeps its data
 */
export async function moveToDatabase(
  config: Config,
  to: DatabaseConfig,
  progress: WorkProgress,
): Promise<MoveOutcome> {
  try {
    const target = await openTarget(to)
    try {
      const database = withoutPassword(to.url)
      const rows = await move({ config, to, target, database, progress })
      return { database, rows }
    } finally {
      await target.close()
    }
  } catch (error) {
    throw asFailure(error)
  }
}

async function openTarget({ url, durability }: DatabaseConfig): Promise<MoveTarget> {
  const { faults } = await checkServer(url, durability)
  if (faults.length > 0) throw new UnfitTarget(faults.join('; '))
  await migrate(url)
  return MoveTarget.open(url, durability)
}

async function move(moving: Moving): Promise<MoveOutcome['rows']> {
  const { config, target, database, progress } = moving
  const moved = await readMoved(config.dataDir)
  if (moved !== undefined) {
    await finishMoved(moving, moved)
    return {}
  }
  await (await openDrained(config, progress)).close()
  const lock = lockSealed(config.dataDir)
  try {
    const data = new MovedData(config.dataDir)
    try {
      await target.begin(data.identity.id, data.days)
      const rows = await target.moveRows(data, progress)
      await checkSides(moving, data)
      const at = formatInstant(systemClock.nowMs())
      await noteMoved(config.dataDir, { database, storeId: data.identity.id, at })
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
async function finishMoved({ config, target, database }: Moving, moved: MovedTo): Promise<void> {
  // Another database may have what an earlier attempt left; this one, what another copy did.
  const isThere = moved.database === database && (await target.readStoreId()) === moved.storeId
  if (!isThere) await refuseMoved(config.dataDir)
  await target.openDatabase()
}

async function checkSides({ target, progress }: Moving, data: MovedData): Promise<void> {
  const differences: string[] = []
  for (const table of data.tables) {
    const [total, found] = [table.total(), await target.countRows(table.name)]
    if (found === total) continue
    differences.push(`${table.name}: ${total} rows here, ${found} in ${target.name}`)
  }
  differences.push(...(await compareMovedDays({ source: data, target }, progress)))
  if (differences.length === 0) return
  const hint = 'DATA_DIR keeps its data. Make the database anew, and run the command again.'
  throw failed(`the two sides differ:\n  ${differences.join('\n  ')}`, hint)
}

function asFailure(error: unknown): unknown {
  if (error instanceof UnfitTarget) {
    return new UnfitSettings(`the database of --to cannot take the data: ${error.message}`)
  }
  if (!(error instanceof Error) || !isOfServer(error)) return error
  const hint = 'Run the command again: it begins anew.'
  return failed(`the database of --to fails: ${error.message}`, hint, { cause: error })
}

/** Files have errors with codes, too. */
function isOfServer(error: NodeJS.ErrnoException): boolean {
  const isOfNetwork = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI)/.test(error.code ?? '')
  return codeOf(error) !== undefined || isOfNetwork || /connection|timeout/i.test(error.message)
}
