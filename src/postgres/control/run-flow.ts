// Runs flows (control/flow.ts) statement by statement.

import type { Flow, Outcome } from '../../control/flow.ts'
import type { Sql } from '../database.ts'

export async function runFlow<Result>(sql: Sql, flow: Flow<Result>): Promise<Result> {
  let step = flow.next({ rows: [], changes: 0 })
  while (step.done !== true) {
    const { text, values } = step.value
    const outcome: Outcome = await sql.run(text, values)
    step = flow.next(outcome)
  }
  return step.value
}
