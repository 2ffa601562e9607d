import { usePostgres } from '../support/postgres.ts'
import { measurementStoreSuite } from './suites/measurement-store.ts'

describe('PostgreSQL', () => measurementStoreSuite(usePostgres, { isOneServer: true }))
