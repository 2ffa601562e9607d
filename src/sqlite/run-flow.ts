// Runs flows (control/flow.ts) at once: in the caller's transaction, or as the calls of a port.

import { callsOf, NO_OUTCOME } from '../control/flow.ts'
import type { Calls, Flow, Flows, Outcome, Statement, Value } from '../control/flow.ts'
import type { Connection } from './database.ts'

type Prepared = ReturnType<Connection['prepare']>

/** What only PostgreSQL needs; see control/flow.ts. */
const LOCKS = /\sFOR (?:(?:KEY )?SHARE|UPDATE)\b/g
const LISTS = /= ANY \((\$\d+)::\w+\[\]\)/g

export class FlowRunner {
  readonly #db: Connection
  readonly #prepared = new Map<string, Prepared>()

  constructor(db: Connection) {
    this.#db = db
  }

  run<Result>(flow: Flow<Result>): Result {
    let step = flow.next(NO_OUTCOME)
    while (step.done !== true) step = flow.next(this.#execute(step.value))
    return step.value
  }

  /** Of one statement each. */
  readingCalls<Of extends Flows>(flows: Of): Calls<Of> {
    return callsOf(flows, async (begin) => this.run(begin()))
  }

  /** Each reads at one moment. */
  viewingCalls<Of extends Flows>(flows: Of): Calls<Of> {
    return callsOf(flows, async (begin) => this.#db.transaction(() => this.run(begin()))())
  }

  /** Each writes all that it does, or nothing. */
  writingCalls<Of extends Flows>(flows: Of): Calls<Of, true> {
    return callsOf(flows, <Result>(begin: () => Flow<Result>): Result =>
      this.#db.transaction(() => this.run(begin())).immediate(),
    )
  }

  #execute({ text, values }: Statement): Outcome {
    const statement = this.#prepare(text)
    const named = Object.fromEntries(values.map((value, at) => [at + 1, storable(value)]))
    if (!statement.reader) return { rows: [], changes: statement.run(named).changes }
    const rows = statement.all(named)
    return { rows, changes: rows.length }
  }

  #prepare(text: string): Prepared {
    const known = this.#prepared.get(text)
    if (known !== undefined) return known
    const own = text.replace(LOCKS, '')
    const prepared = this.#db.prepare(own.replace(LISTS, 'IN (SELECT value FROM json_each($1))'))
    this.#prepared.set(text, prepared)
    return prepared
  }
}

/** Lists as `json_each` takes them. */
function storable(value: Value): Exclude<Value, boolean | readonly number[] | readonly string[]> {
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)
    ? JSON.stringify(value)
    : value
}
