import { describeChanges } from '../contract/changes.ts'
import { newSqliteData } from '../support/sqlite-data.ts'

describeChanges('SQLite', newSqliteData)
