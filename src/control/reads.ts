// What both engines read in the same way about users, tokens and sensors.

import { listAcceptedDays, countMeasurements } from './accepted-days.ts'
import { row } from './flow.ts'
import type { Flow } from './flow.ts'
import {
  countRefused,
  countSkipped,
  hasStoredLines,
  listAheadRefused,
  listRefused,
  listSkipped,
} from './refused.ts'
import { countSetAside, hasSetAside, listSetAside } from './set-aside.ts'
import { findSignInLink } from './sign-in.ts'
import { listSessions, listTokens } from './tokens.ts'
import { findUser, hasUsers, listIdentities, listUsers } from './users.ts'
import type { DataIdentity } from '../ports/control-reader.ts'

const DATA_IDENTITY = 'SELECT id, restored_to_ms AS "restoredToMs" FROM data_identity'

function* readDataIdentity(): Flow<DataIdentity> {
  const identity = yield* row<DataIdentity>(DATA_IDENTITY)
  if (identity === undefined) throw new Error('BUG: the data have no identity')
  return identity
}

/** Calls of `ControlReader`, one statement each. */
export const CONTROL_READS = {
  readDataIdentity,
  findSignInLink,
  findUser,
  hasUsers,
  listUsers,
  listTokens,
  listSessions,
  listIdentities,
  countMeasurements,
  listAcceptedDays,
  countSetAside,
  hasSetAside,
  listSetAside,
  listSkipped,
  countSkipped,
  hasStoredLines,
  listRefused,
  listAheadRefused,
  countRefused,
}
