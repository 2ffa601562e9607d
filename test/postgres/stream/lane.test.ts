import { usePostgres } from '../../support/postgres.ts'
import { laneSuite } from '../suites/lane.ts'

describe('a lane', () => laneSuite(usePostgres))
