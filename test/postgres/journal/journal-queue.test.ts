import { usePostgres } from '../../support/postgres.ts'
import { journalQueueSuite } from '../suites/journal-queue.ts'

describe('two processes that forward', () => journalQueueSuite(usePostgres, { isOneServer: true }))
