// Checks that the server reports how many rows an INSERT into the ledger really added: lanes
// recognise duplicates by that number. Tables spread over machines may count differently.

import { randomBytes } from 'node:crypto'
import type { Opening } from '../server/connection.ts'
import { Database } from '../server/database.ts'
import { serversFinder } from '../server/shard-servers.ts'
import { insertEvents } from './group-writes.ts'
import type { LedgerRow } from './group-writes.ts'
import { Session } from './session.ts'

/** The ledger is missing before the first migration; during a move its key is. */
const HAS_KEY = `
  SELECT EXISTS (SELECT 1 FROM pg_constraint
    WHERE conrelid = to_regclass('ledger') AND contype = 'p') AS "hasKey"`
const KEY_BYTES = 16

/**
 * Inserts events as lanes do, and rolls back.
 *
 * @returns what is wrong with the ledger; `undefined`: nothing, or it does not exist yet
 * @throws Error if the database is out of reach
 */
export async function countingFault(
  databaseUrl: string,
  limit: Pick<Opening, 'statementMsMax'> = {},
): Promise<string | undefined> {
  const database = new Database(databaseUrl, 1, limit)
  try {
    const [ledger] = await database.rows<{ hasKey: boolean }>(HAS_KEY)
    if (ledger?.hasKey !== true || (await countsOnceSomewhere(database, databaseUrl, limit))) {
      return undefined
    }
    return 'this server counts a repeated key twice, so duplicates would go unnoticed'
  } finally {
    await database.close()
  }
}

/** All servers of a database count alike: the first that is there tells. */
async function countsOnceSomewhere(
  main: Database,
  databaseUrl: string,
  limit: Opening,
): Promise<boolean> {
  const { numbers, areSeveral } = await main.readShards()
  const urls = await serversFinder(main, databaseUrl)(numbers)
  let failure: unknown
  for (const [url, shard] of new Map(numbers.map((number, at) => [urls[at] ?? '', number]))) {
    try {
      const session = await Session.open(url, limit, areSeveral ? shard : undefined)
      return await countsOnce(session, shard)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

/** Closes the session, which rolls back. */
async function countsOnce(session: Session, shard: number): Promise<boolean> {
  const [one, other] = [probe(), probe()]
  try {
    await session.send('BEGIN')
    const isNew = await insertEvents(session, shard, [one])
    return isNew && !(await insertEvents(session, shard, [one, other]))
  } finally {
    await session.close()
  }
}

/** An event with a random key: it is not in the ledger, and no other transaction waits for it. */
function probe(): LedgerRow {
  const eventKey = randomBytes(KEY_BYTES).toString('latin1')
  return { eventKey, userId: 0, sensor: { id: 0 }, measuredAtMs: 0, tempCelsius: 0 }
}
