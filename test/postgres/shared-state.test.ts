import { Database } from '../../src/postgres/server/database.ts'
import { PostgresLeases } from '../../src/postgres/shared/leases.ts'
import { PostgresRateCounters } from '../../src/postgres/shared/rate-counters.ts'
import { PostgresSignInCodes } from '../../src/postgres/shared/sign-in-codes.ts'
import { systemClock } from '../../src/system/clock.ts'
import { describeSharedState } from '../contract/shared-state.ts'
import { RecordingLog } from '../support/log.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'

/** The clock is the database's: instead of moving it on, all that it has moves back. */
const MOVE_BACK = [
  `UPDATE leases SET until = until - $1 * interval '1 millisecond'`,
  `UPDATE sign_in_codes SET first_seen_at = first_seen_at - $1 * interval '1 millisecond'`,
]

describe('PostgreSQL', () => {
  const postgres = usePostgres()

  describeSharedState('in PostgreSQL', async () => {
    const { url, remove } = await newMigratedDatabase(postgres())
    const openProcess = () => {
      const database = new Database(url, 4)
      const rateCounters = new PostgresRateCounters({
        database,
        clock: systemClock,
        log: new RecordingLog(),
      })
      const [leases, codes] = [new PostgresLeases(database), new PostgresSignInCodes(database)]
      return { database, leases, codes, rateCounters }
    }
    const [one, other] = [openProcess(), openProcess()]
    return {
      processes: [one, other],
      advanceMs: async (ms) => {
        for (const statement of MOVE_BACK) await one.database.change(statement, [ms])
      },
      close: async () => {
        for (const { database, rateCounters } of [one, other]) {
          rateCounters.close()
          await database.close()
        }
        await remove()
      },
    }
  })
})
