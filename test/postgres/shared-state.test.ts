import { usePostgres } from '../support/postgres.ts'
import { sharedStateSuite } from './suites/shared-state.ts'

describe('PostgreSQL', () => sharedStateSuite(usePostgres))
