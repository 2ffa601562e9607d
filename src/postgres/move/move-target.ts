// The database that a data directory is moved into. All rows arrive in one transaction, so that a
// move which was killed has left nothing, or all of it and its mark; either way another one begins
// with empty tables. No process works on the database until the move is over.

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { DAY_MS } from '../../domain/time.ts'
import type { CountedDay, MovedRows, MovedTable } from '../../ports/moved-data.ts'
import type { WorkProgress } from '../../ports/system.ts'
import { connectAlone, endConnection, readRow } from '../server/connection.ts'
import { durabilityFault, READ_DURABILITY } from '../server/durability.ts'
import { codeOf, LOCK_NOT_AVAILABLE } from '../server/failures.ts'
import type { Durability, DurabilityRow } from '../server/durability.ts'
import { Partitions } from '../measurements/partitions.ts'
import { recordServer } from '../server/restore.ts'
import { COPY_HEADER, COPY_TRAILER, encodeRows, isCopyType } from './copy-format.ts'
import type { CopyType } from './copy-format.ts'
import * as sql from './move-statements.ts'

/** A connection that has ended is seen by others a little later. */
const OTHERS_LOOKS = 20
const OTHERS_LOOK_EVERY_MS = 100

/** The database cannot take the data; the message says why. */
export class UnfitTarget extends Error {}

export class MoveTarget {
  readonly name = 'the database'
  readonly #client: pg.Client
  readonly #durability: Durability
  #warnings = 0

  private constructor(client: pg.Client, durability: Durability) {
    this.#client = client
    this.#durability = durability
    client.on('notice', ({ severity }) => {
      if (severity === 'WARNING') this.#warnings++
    })
  }

  /** The schema is up to date. @throws Error if the server is out of reach */
  static async open(databaseUrl: string, durability: Durability): Promise<MoveTarget> {
    const client = await connectAlone(databaseUrl, false)
    for (const setting of [
      `application_name = 'thermolog move'`,
      'statement_timeout = 0',
      'idle_in_transaction_session_timeout = 0',
    ]) {
      await client.query(`SET ${setting}`)
    }
    return new MoveTarget(client, durability)
  }

  /** Which data are in it. */
  async readStoreId(): Promise<string> {
    return (await readRow<{ id: string }>(this.#client, sql.READ_STORE_ID)).id
  }

  /**
   * Begins a move: from here on no process begins to work on the database, and it is empty.
   *
   * @param days UTC days of which there are measurements
   * @throws UnfitTarget if it has data of its own, or others work on it
   */
  async begin(storeId: string, days: readonly number[]): Promise<void> {
    // Before anybody has to wait: it may have been named by mistake.
    if ((await this.#readMark()) === undefined) await this.#refuseData()
    for (let look = 1; !(await this.#tryClaim(storeId)); look++) {
      if (look === OTHERS_LOOKS) {
        throw new UnfitTarget('processes work on the database: stop them until the move is over')
      }
      await setTimeout(OTHERS_LOOK_EVERY_MS)
    }
    const execute = async (text: string) => void (await this.#client.query(text))
    await new Partitions({ execute }).prepare(days.map((day) => day * DAY_MS))
    await recordServer(this.#client, await readRow<DurabilityRow>(this.#client, READ_DURABILITY))
  }

  /** @returns how many rows, by table */
  async moveRows(data: MovedRows, progress: WorkProgress): Promise<Record<string, number>> {
    const moved: Record<string, number> = {}
    await this.#inTransaction(async () => {
      for (const table of data.tables) {
        const total = table.total()
        moved[table.name] = total
        progress.begin(`moving ${table.name}`, total, 'row')
        await this.#copy(table, (rows) => progress.advance(rows))
      }
      progress.begin('making the index of events', 1, 'step')
      await this.#client.query(sql.MAKE_LEDGER_KEY)
      for (const { name, last } of data.sequences) {
        await this.#client.query(sql.SET_SEQUENCE, [name, last])
      }
      const { id, restoredToMs } = data.identity
      await this.#client.query(sql.SET_IDENTITY, [id, restoredToMs])
    })
    await this.#client.query(sql.ANALYZE_TABLES)
    await this.#refuseUnsafe()
    return moved
  }

  async countRows(table: string): Promise<number> {
    const row = await readRow<{ rows: number }>(
      this.#client,
      `SELECT count(*) AS rows FROM ${table}`,
    )
    return row.rows
  }

  /** What is stored, by sensor and then by day, counted one by one. */
  async *countDays(): AsyncGenerator<CountedDay> {
    await this.#client.query('BEGIN')
    await this.#client.query(sql.COUNT_DAYS)
    for (;;) {
      const { rows } = await this.#client.query(sql.FETCH_DAYS)
      yield* rows
      if (rows.length === 0) break
    }
    await this.#client.query('COMMIT')
  }

  /** From here on processes work on it. */
  async openDatabase(): Promise<void> {
    await this.#client.query(sql.END_MOVING)
  }

  async close(): Promise<void> {
    await endConnection(this.#client)
  }

  /** @returns whether nobody else works on the database: then it is empty, and marked */
  async #tryClaim(storeId: string): Promise<boolean> {
    try {
      return await this.#inTransaction(() => this.#claim(storeId))
    } catch (error) {
      if (codeOf(error) === LOCK_NOT_AVAILABLE) return false
      throw error
    }
  }

  async #claim(storeId: string): Promise<boolean> {
    // Who connects meanwhile waits for this, and then sees the mark.
    await this.#client.query(sql.LOCK_TABLES)
    const { isBusy } = await readRow<{ isBusy: boolean }>(this.#client, sql.OTHERS_WORK)
    if (isBusy) return false
    const mark = await this.#readMark()
    if (mark === undefined) {
      await this.#refuseData()
      await this.#client.query(sql.CREATE_MOVING)
      await this.#client.query(sql.MARK_MOVING, [storeId])
    } else if (mark !== storeId) throw new UnfitTarget('other data are being moved into it')
    await this.#client.query(sql.EMPTY_TABLES)
    await this.#client.query(sql.FORGET_IDENTITY)
    await this.#client.query(sql.DROP_LEDGER_KEY)
    return true
  }

  /** Which data are being moved in, by a move that has not come to its end. */
  async #readMark(): Promise<string | undefined> {
    const { isMoving } = await readRow<{ isMoving: boolean }>(this.#client, sql.IS_MOVING)
    if (!isMoving) return undefined
    return (await readRow<{ storeId: string }>(this.#client, sql.READ_MOVING)).storeId
  }

  async #refuseData(): Promise<void> {
    const { hasData } = await readRow<{ hasData: boolean }>(this.#client, sql.HAS_DATA)
    if (hasData) throw new UnfitTarget('the database has data already: name an empty one')
  }

  async #typesOf(table: string): Promise<ReadonlyMap<string, string>> {
    const { rows } = await this.#client.query<{ name: string; type: string }>(sql.COLUMN_TYPES, [
      table,
    ])
    return new Map(rows.map(({ name, type }) => [name, type]))
  }

  /** @param onRows told of rows on their way */
  async #copy(table: MovedTable, onRows: (rows: number) => void): Promise<void> {
    const { name, columns } = table
    const types = await this.#typesOf(name)
    const copyTypes = columns.map((column) => copyTypeOf(types.get(column), column))
    function* encoded(): Generator<Buffer> {
      yield COPY_HEADER
      for (const rows of table.pages()) {
        yield encodeRows(rows, copyTypes)
        onRows(rows.length)
      }
      yield COPY_TRAILER
    }
    const text = `COPY ${name} (${columns.join(', ')}) FROM STDIN (FORMAT binary)`
    await pipeline(
      Readable.from(encoded(), { highWaterMark: 2 }),
      this.#client.query(copyFrom(text)),
    )
  }

  async #inTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
    const client = this.#client
    await client.query('BEGIN')
    try {
      const result = await work()
      const before = this.#warnings
      const { command } = await client.query('COMMIT')
      // A warning: what was committed may not have reached the standby.
      if (command === 'COMMIT' && this.#warnings === before) return result
      throw new Error('the server did not confirm a commit')
    } catch (error) {
      // Where the connection is lost, this fails too, and says less.
      await Promise.allSettled([client.query('ROLLBACK')])
      throw error
    }
  }

  /** Before the directory is given up. */
  async #refuseUnsafe(): Promise<void> {
    const row = await readRow<DurabilityRow>(this.#client, READ_DURABILITY)
    const fault = durabilityFault(row, this.#durability)
    if (fault !== undefined) throw new UnfitTarget(fault)
  }
}

function copyTypeOf(type: string | undefined, column: string): CopyType {
  if (type !== undefined && isCopyType(type)) return type
  throw new Error(`BUG: column ${column} has the type ${type}`)
}
