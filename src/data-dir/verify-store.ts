// What `thermolog verify` checks in the measurement store of either engine, in order.

import { setImmediate, setTimeout } from 'node:timers/promises'
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
