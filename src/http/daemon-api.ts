// The API of daemons, as a table: address · right · input · handler. Once the token has the right,
// the input is read from the request, and the handler is called with it (routes.ts).

import type { AccessTokens } from '../access/tokens.ts'
import type { HistoryReader } from '../history/read-history.ts'
import type { Submissions } from '../ingest/submissions.ts'
import type { RefusedWriter } from '../ports/refused.ts'
import type { DataIdentity } from '../ports/control-reader.ts'
import type { Sensors } from '../sensors/sensors.ts'
import type { LongAnswers } from './answers/long-answers.ts'
import { getHistory, historyQuery } from './requests/history.ts'
import { showDaemonMe } from './requests/me.ts'
import { measurement, postMeasurement } from './requests/measurement.ts'
import { measurementBatch, postBatch } from './batch/measurement-batch.ts'
import { none } from './input.ts'
import {
  deleteSensor,
  listSensors,
  patchSensor,
  sensorPatch,
  showSensor,
} from './requests/sensors.ts'
import type { RateLimits } from './callers/rate-limit.ts'
import type { BodyGate } from './body/gate.ts'
import { getSeries, seriesQuery } from './requests/series.ts'
import { ApiRoutes, DAEMON_API_BASE } from './routes.ts'
import type { RouteTable } from './routes.ts'

export interface DaemonApiCollaborators {
  readonly tokens: AccessTokens
  readonly sensors: Sensors
  readonly submissions: Submissions
  readonly refusedWriter: RefusedWriter
  readonly history: HistoryReader
  readonly longAnswers: LongAnswers
  /** Lists of all sensors of a user. */
  readonly sensorLists: LongAnswers
  readonly rateLimits: RateLimits
  readonly bodies: BodyGate
  readonly dataIdentity: DataIdentity
}

// prettier-ignore
export function daemonApiRouter(
  collaborators: DaemonApiCollaborators,
): RouteTable {
  const { tokens, sensors, submissions, history, longAnswers, rateLimits, bodies } = collaborators
  const api = new ApiRoutes(DAEMON_API_BASE, sensors)
  const intake = { submissions, rateLimits, bodies, refusedWriter: collaborators.refusedWriter }
  const one = measurement(intake)
  const batch = measurementBatch(intake)
  const patch = sensorPatch(bodies)
  const query = historyQuery
  const several = seriesQuery(sensors)
  const lists = { sensors, sensorLists: collaborators.sensorLists }
  const ofSensor = getHistory(history, longAnswers)
  const series = getSeries(history, longAnswers)
  const me = showDaemonMe(tokens, collaborators.dataIdentity)

  api.add('GET    /me',                        undefined,            none,  me)
  api.add('GET    /sensors',                   'sensors:read',       none,  listSensors(lists))
  api.add('POST   /measurements',              'measurements:write', one,   postMeasurement(intake))
  api.add('POST   /measurements/batch',        'measurements:write', batch, postBatch(intake))
  api.add('GET    /measurements',              'sensors:read',       several, series)
  api.own('GET    /sensors/:id',               'sensors:read',       none,  showSensor(sensors))
  api.own('GET    /sensors/:id/measurements',  'sensors:read',       query, ofSensor)
  api.own('PATCH  /sensors/:id',               'sensors:write',      patch, patchSensor(sensors))
  api.own('DELETE /sensors/:id',               'sensors:write',      none,  deleteSensor(sensors))
  return api
}
