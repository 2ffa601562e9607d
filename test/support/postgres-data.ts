// The journal and the control data on PostgreSQL, for suites that hold every engine to the same.

import type { NewData } from '../contract/open-data.ts'
import { openProcess } from './postgres-process.ts'
import { newMigratedDatabase } from './postgres.ts'
import type { TestPostgres } from './postgres.ts'

/** @param postgres where it is; asked in tests and hooks */
export function newPostgresData(postgres: () => TestPostgres): NewData {
  return async (rules) => {
    const { url, remove } = await newMigratedDatabase(postgres())
    return { open: async () => openProcess(url, rules), remove }
  }
}
