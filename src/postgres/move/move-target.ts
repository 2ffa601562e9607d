// The database that a data directory is moved into. Rows arrive in transactions of some hundred
// thousand, each with the note of how far the move has come; whoever is killed in between goes on
// there. No process works on the database until the move is over.

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { DAY_MS } from '../../domain/time.ts'
import { connectAlone, readRow } from '../connection.ts'
import { durabilityFault, READ_DURABILITY } from '../durability.ts'
import type { Durability, DurabilityRow } from '../durability.ts'
import { Partitions } from '../measurements/partitions.ts'
import { recordServer } from '../server/recorded-server.ts'
import { COPY_HEADER, COPY_TRAILER, encodeRows, isCopyType } from './copy-format.ts'
import type { CopyType, CopyValue } from './copy-format.ts'
import * as sql from './move-statements.ts'

/** The key of a row, as JSON has it. */
type Place = readonly (string | number)[]

interface RowChunk {
  readonly rows: readonly (readonly CopyValue[])[]
  readonly place: Place
}

export interface TableRows {
  readonly name: string
  /** Of each row. */
  readonly columns: readonly string[]
  rowsAfter(place: Place | undefined): Iterable<RowChunk>
}

interface Arrived {
  readonly after: Place
  readonly rows: number
}

export interface MovingState {
  /** Which data they are. */
  readonly storeId: string
  /** `null`: nothing has arrived; empty: tables are being emptied. */
  readonly attempt: string | null
  readonly places: Readonly<Record<string, Arrived>>
}

const ROWS_A_TRANSACTION = 200_000

/** A connection that has ended is seen by others a little later. */
const OTHERS_LOOKS = 20
const OTHERS_LOOK_EVERY_MS = 100

/** The database cannot take the data; the message says why. */
export class UnfitTarget extends Error {}

export class MoveTarget {
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

  /** What a move has left that has not come to its end. */
  async readState(): Promise<MovingState | undefined> {
    const { isMoving } = await readRow<{ isMoving: boolean }>(this.#client, sql.IS_MOVING)
    return isMoving ? readRow<MovingState>(this.#client, sql.READ_MOVING) : undefined
  }

  /**
   * Begins a move, or begins it again: the database is empty then, and no process works on it.
   *
   * @param days UTC days of which there are measurements
   * @throws UnfitTarget if it has data of its own, or a process works on it
   */
  async begin(storeId: string, attempt: string, days: readonly number[]): Promise<void> {
    const state = (await this.readState()) ?? (await this.#announce(storeId))
    if (state.storeId !== storeId) throw new UnfitTarget('other data are being moved into it')
    if (state.attempt === null) await this.#refuseUsed()
    else await this.#empty()
    await this.#client.query(sql.END_FIRST_LINKS)
    await this.#client.query(sql.DROP_LEDGER_KEY)
    const execute = async (text: string) => void (await this.#client.query(text))
    await new Partitions({ execute }).prepare(days.map((day) => day * DAY_MS))
    await recordServer(this.#client, this.#durability)
    await this.#client.query(sql.SET_ATTEMPT, [attempt])
  }

  /**
   * Moves the rows of a table that have not arrived yet.
   *
   * @param onRows told of rows on their way
   */
  async moveRows(attempt: string, table: TableRows, onRows: (rows: number) => void): Promise<void> {
    const types = await this.#typesOf(table.name)
    onRows((await this.readState())?.places[table.name]?.rows ?? 0)
    let isMore = true
    while (isMore) {
      isMore = await this.#inTransaction(async () => {
        const before = (await this.#hold(attempt)).places[table.name]
        const arrived = await this.#copySome(table, types, { before, onRows })
        if (arrived === undefined) return false
        await this.#client.query(sql.NOTE_PLACE, [table.name, JSON.stringify(arrived)])
        return true
      })
    }
  }

  /** What rows alone do not say: keys of the ledger, the next ids, which data they are. */
  async finishData(
    attempt: string,
    data: {
      readonly identity: { readonly id: string; readonly restoredToMs: number | null }
      readonly sequences: readonly { readonly name: string; readonly last: number }[]
    },
  ): Promise<void> {
    const { identity, sequences } = data
    await this.#inTransaction(async () => {
      await this.#hold(attempt)
      const { hasKey } = await readRow<{ hasKey: boolean }>(this.#client, sql.HAS_LEDGER_KEY)
      if (!hasKey) await this.#client.query(sql.MAKE_LEDGER_KEY)
      for (const { name, last } of sequences) {
        await this.#client.query(sql.SET_SEQUENCE, [name, last])
      }
      await this.#client.query(sql.SET_IDENTITY, [identity.id, identity.restoredToMs])
    })
    await this.#client.query('ANALYZE')
    await this.#refuseUnsafe()
  }

  async countRows(table: string): Promise<number> {
    const row = await readRow<{ rows: number }>(
      this.#client,
      `SELECT count(*) AS rows FROM ${table}`,
    )
    return row.rows
  }

  /** What is stored, by sensor and UTC day, counted one by one. */
  async *countDays(): AsyncGenerator<{ sensorId: number; day: number; measurements: number }> {
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
    await this.#client.end()
  }

  /** From here on no process begins to work on it. */
  async #announce(storeId: string): Promise<MovingState> {
    await this.#inTransaction(async () => {
      await this.#refuseData()
      await this.#client.query(sql.CREATE_MOVING)
      await this.#client.query(sql.ANNOUNCE_MOVING, [storeId])
    })
    return { storeId, attempt: null, places: {} }
  }

  /** Of what earlier attempts have moved. */
  async #empty(): Promise<void> {
    await this.#inTransaction(async () => {
      await this.#client.query(sql.FORGET_ATTEMPT)
      await this.#client.query(sql.EMPTY_TABLES)
    })
  }

  /** Processes that were here before may have gone on until now. */
  async #refuseUsed(): Promise<void> {
    try {
      await this.#refuseOthers()
      await this.#refuseData()
    } catch (error) {
      await this.openDatabase()
      throw error
    }
  }

  async #refuseOthers(): Promise<void> {
    for (let look = 1; ; look++) {
      const { count } = await readRow<{ count: number }>(this.#client, sql.OTHER_PROCESSES)
      if (count === 0) return
      if (look === OTHERS_LOOKS) {
        throw new UnfitTarget('processes work on the database: stop them until the move is over')
      }
      await setTimeout(OTHERS_LOOK_EVERY_MS)
    }
  }

  async #refuseData(): Promise<void> {
    const { hasData } = await readRow<{ hasData: boolean }>(this.#client, sql.HAS_DATA)
    if (hasData) throw new UnfitTarget('the database has data already: name an empty one')
  }

  async #hold(attempt: string): Promise<MovingState> {
    const { rows } = await this.#client.query<MovingState>(sql.HOLD_MOVING, [attempt])
    if (rows[0] === undefined) throw new UnfitTarget('another move into the database has begun')
    return rows[0]
  }

  async #typesOf(table: string): Promise<ReadonlyMap<string, string>> {
    const { rows } = await this.#client.query<{ name: string; type: string }>(sql.COLUMN_TYPES, [
      table,
    ])
    return new Map(rows.map(({ name, type }) => [name, type]))
  }

  /** @returns how far the table has come; `undefined`: all of it had arrived */
  async #copySome(
    table: TableRows,
    types: ReadonlyMap<string, string>,
    at: { readonly before: Arrived | undefined; readonly onRows: (rows: number) => void },
  ): Promise<Arrived | undefined> {
    const { before, onRows } = at
    let arrived = before
    const chunks = table.rowsAfter(before?.after)[Symbol.iterator]()
    const first = chunks.next()
    if (first.done === true) return undefined
    const { columns } = table
    const copyTypes = columns.map((column) => copyTypeOf(types.get(column), column))
    function* encoded(): Generator<Buffer> {
      yield COPY_HEADER
      let written = 0
      for (let next = first; next.done !== true; next = chunks.next()) {
        const { rows, place } = next.value
        yield encodeRows(rows, copyTypes)
        written += rows.length
        arrived = { after: place, rows: (before?.rows ?? 0) + written }
        onRows(rows.length)
        if (written >= ROWS_A_TRANSACTION) break
      }
      yield COPY_TRAILER
    }
    const text = `COPY ${table.name} (${columns.join(', ')}) FROM STDIN (FORMAT binary)`
    await pipeline(
      Readable.from(encoded(), { highWaterMark: 2 }),
      this.#client.query(copyFrom(text)),
    )
    return arrived
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
      await client.query('ROLLBACK')
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
