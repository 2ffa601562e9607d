// The API of daemons, as a table: address · right · input · handler. Once the token has the right,
// the input is read from the request, and the handler is called with it (routes.ts).

import type { AccessTokens } from '../access/tokens.ts'
import type { Submissions } from '../ingest/submissions.ts'
import type { RefusedWriter } from '../ports/refused.ts'
import type { DataIdentity } from '../ports/control-reader.ts'
import type { Histories } from './answers/history-answer.ts'
import type { SensorLists } from './answers/sensor-list.ts'
import { getHistory, getSeries, historyQuery, seriesQuery } from './requests/history.ts'
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
import { ApiRoutes, DAEMON_API_BASE } from './routes.ts'
import type { RouteTable } from './routes.ts'

export interface DaemonApiCollaborators extends Histories, SensorLists {
  readonly tokens: AccessTokens
  readonly submissions: Submissions
  readonly refusedWriter: RefusedWriter
  readonly rateLimits: RateLimits
  readonly bodies: BodyGate
  readonly dataIdentity: DataIdentity
}

// prettier-ignore
export function daemonApiRouter(
  collaborators: DaemonApiCollaborators,
): RouteTable {
  const { tokens, sensors, submissions, rateLimits, bodies } = collaborators
  const api = new ApiRoutes(DAEMON_API_BASE, sensors, bodies)
  const intake = { submissions, rateLimits, bodies, refusedWriter: collaborators.refusedWriter }
  const one = measurement(intake)
  const batch = measurementBatch(intake)
  const patch = sensorPatch
  const several = seriesQuery(sensors)
  const all = listSensors(collaborators)
  const ofSensor = getHistory(collaborators)
  const series = getSeries(collaborators)
  const me = showDaemonMe(tokens, collaborators.dataIdentity)

  api.add('GET    /me',                        undefined,            none,  me)
  api.add('GET    /sensors',                   'sensors:read',       none,  all)
  api.add('POST   /measurements',              'measurements:write', one,   postMeasurement(intake))
  api.add('POST   /measurements/batch',        'measurements:write', batch, postBatch(intake))
  api.add('GET    /measurements',              'sensors:read',       several, series)
  api.own('GET    /sensors/:id',               'sensors:read',       none,  showSensor(sensors))
  api.own('GET    /sensors/:id/measurements',  'sensors:read',       historyQuery, ofSensor)
  api.own('PATCH  /sensors/:id',               'sensors:write',      patch, patchSensor(sensors))
  api.own('DELETE /sensors/:id',               'sensors:write',      none,  deleteSensor(sensors))
  return api
}
