import { usePostgres } from '../support/postgres.ts'
import { liveEventsSuite } from './suites/live-events.ts'

describe('live events of two processes', () => liveEventsSuite(usePostgres))
