import { describeControl } from '../contract/control.ts'
import { newSqliteData } from '../support/sqlite-data.ts'

describeControl('SQLite', newSqliteData)
