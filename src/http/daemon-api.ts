// The API of daemons, as a table: address · right · input · handler.

import type { AccessTokens } from '../access/tokens.ts'
import type { HistoryReader } from '../history/read-history.ts'
import type { Acceptor } from '../ingest/accept.ts'
import type { Sensors } from '../sensors/sensors.ts'
import { DAEMON_API_BASE } from './dispatch.ts'
import { getHistory } from './handlers/history.ts'
import { showDaemonMe } from './handlers/me.ts'
import { postBatch, postMeasurement } from './handlers/measurements.ts'
import { deleteSensor, listSensors, patchSensor } from './handlers/sensors.ts'
import { historyQuery, measurement, measurementBatch, none, sensorPatch } from './inputs.ts'
import type { RateLimits } from './rate-limit.ts'
import type { BodyReader } from './read-body.ts'
import { ApiRoutes } from './routes.ts'
import type { RouteTable } from './routes.ts'

export interface DaemonApiCollaborators {
  readonly tokens: AccessTokens
  readonly sensors: Sensors
  readonly acceptor: Acceptor
  readonly history: HistoryReader
  readonly rateLimits: RateLimits
  readonly bodies: BodyReader
}

// prettier-ignore
export function daemonApiRouter(
  { tokens, sensors, acceptor, history, rateLimits, bodies }: DaemonApiCollaborators,
): RouteTable {
  const api = new ApiRoutes(DAEMON_API_BASE, sensors)
  const intake = { acceptor, rateLimits }
  const one = measurement(bodies, acceptor)
  const batch = measurementBatch(bodies, acceptor)
  const patch = sensorPatch(bodies)
  const query = historyQuery

  api.add('GET    /me',                        undefined,            none,  showDaemonMe(tokens))
  api.add('GET    /sensors',                   'sensors:read',       none,  listSensors(sensors))
  api.add('POST   /measurements',              'measurements:write', one,   postMeasurement(intake))
  api.add('POST   /measurements/batch',        'measurements:write', batch, postBatch(intake))
  api.own('GET    /sensors/:id/measurements',  'sensors:read',       query, getHistory(history))
  api.own('PATCH  /sensors/:id',               'sensors:write',      patch, patchSensor(sensors))
  api.own('DELETE /sensors/:id',               'sensors:write',      none,  deleteSensor(sensors))
  return api
}
