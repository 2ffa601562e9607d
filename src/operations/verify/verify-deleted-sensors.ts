// Finds remains of sensors that are deleted or never existed, in the control data and, once their
// deletion is complete, in the measurement store.

import type { Report } from '../../domain/finding.ts'

export interface DeletedSensorsCollaborators {
  readonly control: {
    /** Their name in findings. */
    readonly name: string
    isLive(sensorId: number): Promise<boolean>
    /** Whether the measurements of a deleted sensor still have to be deleted. */
    isLeaving(sensorId: number): Promise<boolean>
    /** Rows of `name` that belong to no live sensor. */
    strayRows(): Promise<readonly { readonly name: string; readonly sensorId: number }[]>
  }
  readonly store: {
    readonly name: string
    /** How to delete a sensor's remains by hand. */
    deletionRemedy(sensorId: number): string
    /**
     * Sensors that have anything in the store.
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
  // A deletion may complete between the two looks: then the second finds nothing in the store.
  const suspects: number[] = []
  for (const sensorId of await store.sensorIds()) {
    const isKnown = (await control.isLive(sensorId)) || (await control.isLeaving(sensorId))
    if (!isKnown) suspects.push(sensorId)
  }
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
  for (const { name, sensorId } of await control.strayRows()) {
    report({
      check: 'deleted_sensors',
      where: control.name,
      sensorId,
      problem: `${name} has rows of a sensor that is deleted or never was`,
      remedy: 'Nothing shows them; tell of it, since it is a fault of Thermolog.',
    })
  }
}
