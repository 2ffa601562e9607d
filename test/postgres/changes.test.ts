import { describeChanges } from '../contract/changes.ts'
import { newPostgresData } from '../support/postgres-data.ts'
import { usePostgres } from '../support/postgres.ts'

describe('changes in PostgreSQL', () => {
  describeChanges('PostgreSQL', newPostgresData(usePostgres()))
})
