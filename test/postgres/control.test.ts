import { usePostgres } from '../support/postgres.ts'
import { controlSuite } from './suites/control.ts'

describe('control data in PostgreSQL', () => controlSuite(usePostgres, { isOneServer: true }))
