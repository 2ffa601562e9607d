// What `thermolog verify` checks in the measurement store of either engine, in order.

import { setImmediate, setTimeout } from 'node:timers/promises'
import type { InfluxConfig } from '../config.ts'
import { SECOND_MS } from '../domain/time.ts'
import { InfluxConnection } from '../influx/connection.ts'
import { MeasurementCounts } from '../influx/point-counts.ts'
import { verifyDeletedSensors } from '../operations/verify/verify-deleted-sensors.ts'
import type { DeletedSensorsCollaborators } from '../operations/verify/verify-deleted-sensors.ts'
import { verifySensors } from '../operations/verify/verify-counts.ts'
import type {
  SensorCheckCollaborators,
  SensorsChecked,
} from '../operations/verify/verify-counts.ts'
import { verifySummaries } from '../operations/verify/verify-summaries.ts'
import type { SummariesCollaborators } from '../operations/verify/verify-summaries.ts'
import type { WorkProgress } from '../ports/system.ts'

const INFLUX_SETTINGS = { socketsMax: 2, timeoutMs: 60 * SECOND_MS }

const INFLUX_MISSING =
  'Restart the service: it rewrites what its journal still has. Then run this again. ' +
  'What is still missing is in a backup of InfluxDB, or lost.'

type Both = SensorCheckCollaborators & DeletedSensorsCollaborators

interface Collaborators extends Pick<Both, 'store' | 'reader' | 'report'> {
  readonly control: Both['control'] & { total(): Promise<number> }
  /** The store, if it has summaries. */
  readonly audit: SummariesCollaborators['store'] | undefined
}

/** @throws StoreUnavailable */
export async function verifyStore(
  collaborators: Collaborators,
  progress: WorkProgress,
): Promise<SensorsChecked> {
  const { control, audit } = collaborators
  const advance = (measurements: number) => progress.advance(measurements)
  const total = await control.total()
  progress.begin('counting', total, 'measurement')
  const checked = await verifySensors({ ...collaborators, pause: setTimeout, advance })
  if (audit !== undefined) {
    progress.begin('checking summaries', total, 'measurement')
    await verifySummaries({ ...collaborators, store: audit, advance, rest: setImmediate })
  }
  await verifyDeletedSensors(collaborators)
  return checked
}

/** InfluxDB as the store to check, with the wording for findings about it. */
export function openInfluxCounts(influx: InfluxConfig) {
  const connection = new InfluxConnection(influx, INFLUX_SETTINGS)
  return Object.assign(new MeasurementCounts(connection), {
    name: 'InfluxDB',
    missingRemedy: INFLUX_MISSING,
    deletionRemedy: (sensorId: number) =>
      'If the control data were restored to an earlier time, they may have been acknowledged: ' +
      'keep them. If the sensor was deleted: influx delete --start 1900-01-01T00:00:00Z ' +
      `--stop 2200-01-01T00:00:00Z --predicate 'sensor_id="${sensorId}"'.`,
    close: () => connection.close(),
  })
}
