// Runs flows (control/flow.ts) at once, in the caller's transaction.

import { NO_OUTCOME } from '../../control/flow.ts'
import type { Flow, Outcome, Statement, Value } from '../../control/flow.ts'
import type { Connection } from '../database.ts'

type Prepared = ReturnType<Connection['prepare']>

/** What PostgreSQL locks for; see control/flow.ts. */
const LOCKS = /\sFOR (?:KEY SHARE|UPDATE)\b/g

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
    const prepared = this.#db.prepare(text.replace(LOCKS, ''))
    this.#prepared.set(text, prepared)
    return prepared
  }
}

function storable(value: Value): Exclude<Value, boolean> {
  return typeof value === 'boolean' ? Number(value) : value
}
