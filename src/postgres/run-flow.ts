// Runs flows (control/flow.ts) statement by statement.

import { NO_OUTCOME } from '../control/flow.ts'
import type { Flow } from '../control/flow.ts'
import type { Sql } from './server/database.ts'

export async function runFlow<Result>(sql: Sql, flow: Flow<Result>): Promise<Result> {
  let step = flow.next(NO_OUTCOME)
  while (step.done !== true) {
    const { text, values } = step.value
    step = flow.next(await sql.run(text, values))
  }
  return step.value
}
