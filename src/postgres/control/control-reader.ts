// ControlReader on PostgreSQL: users, access tokens and sensors.

import { callsOf, counted, row } from '../../control/flow.ts'
import type { Flow } from '../../control/flow.ts'
import { CONTROL_READS } from '../../control/reads.ts'
import type { ControlReader } from '../../ports/control-reader.ts'
import { runFlow } from '../server/database.ts'
import type { Database } from '../server/database.ts'
import { PrincipalLookUps } from './principal-look-ups.ts'
import { CHANGES_READS } from './sensor-changes.ts'
import { SENSOR_READS } from './sensor-rows.ts'

const CURSOR_SECRET = 'SELECT cursor_secret AS secret FROM data_identity'
const DELETIONS = `
  SELECT (SELECT count(*) FROM sensor_deletions) + (
    SELECT count(*) FROM user_deletions JOIN sensor_state USING (user_id)) AS count`
const countSensorDeletions = () => counted(DELETIONS)

export function createControlReader(database: Database): ControlReader {
  const principals = new PrincipalLookUps(database)
  const calls = callsOf(
    {
      ...CONTROL_READS,
      ...SENSOR_READS,
      ...CHANGES_READS,
      readCursorSecret,
      countSensorDeletions,
    },
    (begin) => runFlow(database, begin()),
  )
  return { ...calls, findPrincipal: (tokenHash) => principals.find(tokenHash) }
}

function* readCursorSecret(): Flow<Uint8Array> {
  const found = yield* row<{ secret: Buffer }>(CURSOR_SECRET)
  if (found === undefined) throw new Error('BUG: the data have no identity')
  return found.secret
}
