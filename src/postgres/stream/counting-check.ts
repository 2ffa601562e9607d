// Whether the ledger counts what an insertion has really added: what lanes tell a duplicate by.
// Tables that are spread over machines may count otherwise than others, so these are asked.

import { randomBytes } from 'node:crypto'
import type { Opening } from '../server/connection.ts'
import { insertEvents } from './group-writes.ts'
import type { LedgerRow } from './group-writes.ts'
import { Session } from './session.ts'

/** Before the first migration there is no ledger; a move makes the key last. */
const HAS_KEY = `
  SELECT EXISTS (SELECT 1 FROM pg_constraint
    WHERE conrelid = to_regclass('ledger') AND contype = 'p') AS "hasKey"`
const KEY_BYTES = 16

/**
 * What is wrong with the ledger, asked as lanes ask; nothing of it stays. `undefined`: nothing, or
 * there is none yet.
 *
 * @throws Error if the database is out of reach
 */
export async function countingFault(
  databaseUrl: string,
  opening?: Opening,
): Promise<string | undefined> {
  const session = await Session.open(databaseUrl, opening)
  try {
    if (!(await hasKey(session)) || (await countsOnce(session))) return undefined
    return 'this server counts a repeated key twice, so duplicates would go unnoticed'
  } finally {
    await session.close()
  }
}

async function hasKey(session: Session): Promise<boolean> {
  const { rows } = await session.send<{ hasKey: boolean }>(HAS_KEY)
  return rows[0]?.hasKey === true
}

async function countsOnce(session: Session): Promise<boolean> {
  const [one, other] = [probeOf(0), probeOf(1)]
  await session.send('BEGIN')
  try {
    return (await insertEvents(session, [one])) && !(await insertEvents(session, [one, other]))
  } finally {
    await session.send('ROLLBACK')
  }
}

/** An event that nobody has, nor waits for. */
function probeOf(shard: number): LedgerRow {
  const eventKey = randomBytes(KEY_BYTES).toString('latin1')
  return { eventKey, userId: 0, shard, sensor: { id: 0 }, measuredAtMs: 0, tempCelsius: 0 }
}
