import { usePostgres } from '../support/postgres.ts'
import { changesSuite } from './suites/changes.ts'

describe('changes in PostgreSQL', () => changesSuite(usePostgres))
