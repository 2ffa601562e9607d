import { describeControl } from '../contract/control.ts'
import { describeOwnTokens } from '../contract/own-tokens.ts'
import { describeSignIns } from '../contract/sign-ins.ts'
import { describeUnknownIds } from '../contract/unknown-ids.ts'
import { newSqliteData } from '../support/sqlite-data.ts'

describeControl('SQLite', newSqliteData)
describeSignIns('SQLite', newSqliteData)
describeOwnTokens('SQLite', newSqliteData)
describeUnknownIds('SQLite', newSqliteData)
