import { usePostgres } from '../support/postgres.ts'
import { userDeletionSuite } from './suites/user-deletion.ts'

describe('the deletion of a user', () => userDeletionSuite(usePostgres))
