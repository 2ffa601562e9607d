import { usePostgres } from '../../support/postgres.ts'
import { forwardProgressSuite } from '../suites/forward-progress.ts'

describe('the backlog of a database', () => forwardProgressSuite(usePostgres))
