// Checks that the server reports how many rows an INSERT into the ledger really added: lanes
// recognise duplicates by that number, and not every server that speaks like PostgreSQL is one.

import { randomBytes } from 'node:crypto'
import type { Opening } from '../server/connection.ts'
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
  const session = await Session.open(databaseUrl, limit)
  try {
    const { rows } = await session.send<{ hasKey: boolean }>(HAS_KEY)
    if (rows[0]?.hasKey !== true || (await countsOnce(session))) return undefined
    return 'this server counts a repeated key twice, so duplicates would go unnoticed'
  } finally {
    await session.close()
  }
}

/** The end of the session rolls back. */
async function countsOnce(session: Session): Promise<boolean> {
  const [one, other] = [probe(), probe()]
  await session.send('BEGIN')
  const isNew = await insertEvents(session, [one])
  return isNew && !(await insertEvents(session, [one, other]))
}

/** An event with a random key: it is not in the ledger, and no other transaction waits for it. */
function probe(): LedgerRow {
  const eventKey = randomBytes(KEY_BYTES).toString('latin1')
  return { eventKey, userId: 0, sensor: { id: 0 }, measuredAtMs: 0, tempCelsius: 0 }
}
