// What is left of sensors that are deleted, or that never were: in the measurement store once their
// deletion is through, and in control.db.

import type { Report } from '../../domain/finding.ts'

export interface DeletedSensorsCollaborators {
  readonly control: {
    isLive(sensorId: number): boolean
    /** Whether what the store has of a deleted sensor is still to be deleted. */
    isLeaving(sensorId: number): boolean
    /** Rows of `name` about sensors that are not live. */
    strayRows(): readonly { readonly name: string; readonly sensorId: number }[]
  }
  readonly store: {
    readonly name: string
    /** How what it has of a sensor is deleted by hand. */
    deletionRemedy(sensorId: number): string
    /**
     * Sensors of which anything is there.
     *
     * @throws StoreUnavailable
     */
    sensorIds(): Promise<ReadonlySet<number>>
  }
  readonly report: Report
}

export async function verifyDeletedSensors({
  control,
  store,
  report,
}: DeletedSensorsCollaborators): Promise<void> {
  // A deletion may be through between the two looks: then the store has nothing at the second.
  const isKnown = (sensorId: number) => control.isLive(sensorId) || control.isLeaving(sensorId)
  const suspects = [...(await store.sensorIds())].filter((sensorId) => !isKnown(sensorId))
  const left = suspects.length === 0 ? new Set<number>() : await store.sensorIds()
  for (const sensorId of suspects.filter((id) => left.has(id))) {
    report({
      check: 'deleted_sensors',
      where: store.name,
      sensorId,
      problem: 'it has measurements of a sensor that is deleted or never was',
      remedy: store.deletionRemedy(sensorId),
    })
  }
  for (const { name, sensorId } of control.strayRows()) {
    report({
      check: 'deleted_sensors',
      where: 'control.db',
      sensorId,
      problem: `${name} has rows of a sensor that is deleted or never was`,
      remedy: 'Nothing shows them; tell of it, since it is a fault of Thermolog.',
    })
  }
}
