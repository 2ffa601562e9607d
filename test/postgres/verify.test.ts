import { usePostgres } from '../support/postgres.ts'
import { verifySuite } from './suites/verify.ts'

describe('the verification of a database', () => verifySuite(usePostgres))
