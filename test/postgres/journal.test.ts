import { describeJournal } from '../contract/journal.ts'
import { newPostgresData } from '../support/postgres-data.ts'
import { usePostgres } from '../support/postgres.ts'

describe('PostgreSQL', () => {
  describeJournal('PostgreSQL', newPostgresData(usePostgres()))
})
