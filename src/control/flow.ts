// Both engines share their operations on control data as flows: generators that yield statements in
// the SQL that SQLite and PostgreSQL share, and receive the results. SQLite runs a flow at once,
// PostgreSQL awaits each statement; both use one transaction.
//
// For PostgreSQL, where several processes write, rows are locked (FOR UPDATE …); SQLite has one
// writer, so its runner removes these parts. A list of numbers is one value: = ANY ($1::bigint[]).

export type Value =
  number | string | boolean | Uint8Array | null | readonly number[] | readonly string[]

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

/** The outcome that starts a flow, which has yielded nothing yet. */
export const NO_OUTCOME: Outcome = { rows: [], changes: 0 }

export type Flow<Result> = Generator<Statement, Result, Outcome>

export function* rows<Row>(text: string, ...values: readonly Value[]): Flow<readonly Row[]> {
  return (yield { text, values }).rows as readonly Row[]
}

/** The rows after this many: SQLite has no OFFSET without a LIMIT. */
export function allBehind(count: number): string {
  return `LIMIT 1000000 OFFSET ${count}`
}

/** The first row, if any. */
export function* row<Row>(text: string, ...values: readonly Value[]): Flow<Row | undefined> {
  const [first] = yield* rows<Row>(text, ...values)
  return first
}

/** The value of a statement's column "count". */
export function* counted(text: string, ...values: readonly Value[]): Flow<number> {
  return (yield* row<{ count: number }>(text, ...values))?.count ?? 0
}

/** @returns how many rows a statement has inserted, changed or deleted */
export function* change(text: string, ...values: readonly Value[]): Flow<number> {
  return (yield { text, values }).changes
}

/** A port's flows, by the names of its calls. */
export type Flows = Readonly<Record<string, (...args: never[]) => Flow<unknown>>>

/** The calls of a port. */
export type Calls<Of extends Flows, IsAtOnce extends boolean = false> = {
  readonly [Name in keyof Of]: Of[Name] extends (...args: infer Args) => Flow<infer Result>
    ? (...args: Args) => IsAtOnce extends true ? Result : Promise<Result>
    : never
}

/** @param run starts a flow, again if its transaction has to be repeated */
export function callsOf<Of extends Flows>(
  flows: Of,
  run: <Result>(begin: () => Flow<Result>) => Promise<Result>,
): Calls<Of>
export function callsOf<Of extends Flows>(
  flows: Of,
  run: <Result>(begin: () => Flow<Result>) => Result,
): Calls<Of, true>
export function callsOf(flows: Flows, run: (begin: () => Flow<unknown>) => unknown): object {
  const calls = Object.entries(flows).map(([name, flow]) => {
    return [name, (...args: never[]) => run(() => flow(...args))]
  })
  return Object.fromEntries(calls) as object
}
