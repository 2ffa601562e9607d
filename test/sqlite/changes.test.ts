import { describeChanges } from '../contract/changes.ts'
import { describeCursors } from '../contract/cursors.ts'
import { describeLatest } from '../contract/latest.ts'
import { newSqliteData } from '../support/sqlite-data.ts'

describeChanges('SQLite', newSqliteData)
describeCursors('SQLite', newSqliteData)
describeLatest('SQLite', newSqliteData)
