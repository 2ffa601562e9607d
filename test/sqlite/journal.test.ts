import { describeJournal } from '../contract/journal.ts'
import { newSqliteData } from '../support/sqlite-data.ts'

describeJournal('SQLite', newSqliteData)
