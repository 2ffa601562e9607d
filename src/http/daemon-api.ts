// The API of daemons, as a table: address · right · input · handler. Once the token has the right,
// the input is read from the request, and the handler is called with it (routes/routes.ts).

import type { Histories } from './answers/history-answer.ts'
import type { SensorLists } from './answers/sensor-list.ts'
import { getHistory, getSeries, historyQuery, seriesQuery } from './requests/history.ts'
import { showDaemonMe } from './requests/me.ts'
import type { MeSources } from './requests/me.ts'
import { measurement, postMeasurement } from './requests/measurement.ts'
import { measurementBatch, postBatch } from './batch/measurement-batch.ts'
import type { BatchIntake } from './batch/measurement-batch.ts'
import { none } from './routes/input.ts'
import {
  deleteSensor,
  listSensors,
  patchSensor,
  sensorPatch,
  showSensor,
} from './requests/sensors.ts'
import { ApiRoutes, DAEMON_API_BASE, long, receipt, small } from './routes/routes.ts'
import type { RouteTable } from './routes/routes.ts'

interface Collaborators extends BatchIntake, Histories, MeSources, SensorLists {}

// prettier-ignore
export function daemonApiRouter(collaborators: Collaborators): RouteTable {
  const { sensors, bodies } = collaborators
  const api = new ApiRoutes(DAEMON_API_BASE, sensors, bodies)
  const one = measurement(collaborators)
  const batch = measurementBatch(collaborators)
  const post = postMeasurement(collaborators)
  const postAll = postBatch(collaborators)
  const change = patchSensor(sensors)
  const end = deleteSensor(sensors)
  const show = showSensor(sensors)
  const several = seriesQuery(sensors)
  const all = listSensors(collaborators)
  const ofSensor = getHistory(collaborators)
  const series = getSeries(collaborators)
  const me = showDaemonMe(collaborators)

  api.add('GET    /me',                       undefined,            none,  small(me))
  api.add('GET    /sensors',                  'sensors:read',       none,  long(all))
  api.add('POST   /measurements',             'measurements:write', one,   receipt(post))
  api.add('POST   /measurements/batch',       'measurements:write', batch, receipt(postAll))
  api.add('GET    /measurements',             'sensors:read',       several, long(series))
  api.own('GET    /sensors/:id',              'sensors:read',       none,  small(show))
  api.own('GET    /sensors/:id/measurements', 'sensors:read',       historyQuery, long(ofSensor))
  api.own('PATCH  /sensors/:id',              'sensors:write',      sensorPatch, small(change))
  api.own('DELETE /sensors/:id',              'sensors:write',      none,  small(end))
  return api
}
