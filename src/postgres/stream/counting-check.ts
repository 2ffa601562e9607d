// Checks that the server reports how many rows an INSERT into the ledger really added: lanes
// recognise duplicates by that number. Tables spread over machines may count differently.

import { randomBytes } from 'node:crypto'
import type { Opening } from '../server/connection.ts'
import { insertEvents } from './group-writes.ts'
import type { LedgerRow } from './group-writes.ts'
import { Session } from './session.ts'

/** The ledger is missing before the first migration; during a move its key is. */
const HAS_KEY = `
  SELECT EXISTS (SELECT 1 FROM pg_constraint
    WHERE conrelid = to_regclass('ledger') AND contype = 'p') AS "hasKey"`
const READ_SHARDS = 'SELECT unnest(shards) AS shard FROM data_identity'
const KEY_BYTES = 16

/**
 * Inserts events as lanes do, and rolls back.
 *
 * @returns what is wrong with the ledger; `undefined`: nothing, or it does not exist yet
 * @throws Error if the database is out of reach
 */
export async function countingFault(
  databaseUrl: string,
  opening?: Opening,
): Promise<string | undefined> {
  const session = await Session.open(databaseUrl, opening)
  try {
    if (!(await hasKey(session)) || (await countsOnceSomewhere(session))) return undefined
    return 'this server counts a repeated key twice, so duplicates would go unnoticed'
  } finally {
    await session.close()
  }
}

async function hasKey(session: Session): Promise<boolean> {
  const { rows } = await session.send<{ hasKey: boolean }>(HAS_KEY)
  return rows[0]?.hasKey === true
}

/** All servers of a database count alike: the first shard whose server is there tells. */
async function countsOnceSomewhere(session: Session): Promise<boolean> {
  let failure: unknown
  for (const { shard } of (await session.send<{ shard: number }>(READ_SHARDS)).rows) {
    try {
      return await countsOnce(session, shard)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

async function countsOnce(session: Session, shard: number): Promise<boolean> {
  const [one, other] = [probe(), probe()]
  await session.send('BEGIN')
  try {
    const isNew = await insertEvents(session, shard, [one])
    return isNew && !(await insertEvents(session, shard, [one, other]))
  } finally {
    await session.send('ROLLBACK')
  }
}

/** An event with a random key: it is not in the ledger, and no other transaction waits for it. */
function probe(): LedgerRow {
  const eventKey = randomBytes(KEY_BYTES).toString('latin1')
  return { eventKey, userId: 0, sensor: { id: 0 }, measuredAtMs: 0, tempCelsius: 0 }
}
