import { usePostgres } from '../support/postgres.ts'
import { processesSuite } from './suites/processes.ts'

describe('a process that ends', () => processesSuite(usePostgres))
