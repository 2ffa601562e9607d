// What both engines do with control data is written once, as flows: generators that yield
// statements in the part of SQL that SQLite and PostgreSQL share, and get what these found. SQLite
// runs a flow at once, PostgreSQL waits for each statement; either runs it in one transaction.
//
// Rows are locked (FOR UPDATE …) for PostgreSQL, where several processes write, and found by the
// shard of their user as well (s.shard = $2 AND …); SQLite has one writer and no shards, and its
// runner leaves that out. A list of numbers is one value: = ANY ($1::bigint[]).

export type Value = number | string | boolean | Uint8Array | null | readonly number[]

export interface Statement {
  readonly text: string
  /** Of `$1`, `$2`, … */
  readonly values: readonly Value[]
}

export interface Outcome {
  readonly rows: readonly unknown[]
  /** How many rows were inserted, changed or deleted. */
  readonly changes: number
}

/** What a flow is begun with: it has yielded nothing yet. */
export const NO_OUTCOME: Outcome = { rows: [], changes: 0 }

export type Flow<Result> = Generator<Statement, Result, Outcome>

export function* rows<Row>(text: string, ...values: readonly Value[]): Flow<readonly Row[]> {
  return (yield { text, values }).rows as readonly Row[]
}

/** What comes behind so many rows: SQLite has no OFFSET without a LIMIT. */
export function allBehind(count: number): string {
  return `LIMIT 1000000 OFFSET ${count}`
}

/** The first row, if there is any. */
export function* row<Row>(text: string, ...values: readonly Value[]): Flow<Row | undefined> {
  const [first] = yield* rows<Row>(text, ...values)
  return first
}

/** What a statement finds as "count". */
export function* counted(text: string, ...values: readonly Value[]): Flow<number> {
  return (yield* row<{ count: number }>(text, ...values))?.count ?? 0
}

/** @returns how many rows a statement has inserted, changed or deleted */
export function* change(text: string, ...values: readonly Value[]): Flow<number> {
  return (yield { text, values }).changes
}
