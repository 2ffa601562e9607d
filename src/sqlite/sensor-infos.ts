// What the journal tells the measurement store about sensors, as JSON in its rows.

import type { SensorInfo } from '../ports/measurement-store.ts'

interface NewSensor extends Pick<SensorInfo, 'userId' | 'serialNumber' | 'alias'> {
  readonly id: number
  readonly createdAtMs: number
}

/** What a group's row tells the store about new sensors; `null`: there are none. */
export function encodeInfos(newSensors: readonly NewSensor[]): string | null {
  if (newSensors.length === 0) return null
  const infos = newSensors.map(({ id, userId, serialNumber, alias, createdAtMs }): SensorInfo => {
    const names = { serialNumber, alias, compensationCelsius: 0 }
    return { userId, sensorId: id, atMs: createdAtMs, ...names }
  })
  return JSON.stringify(infos)
}

export function decodeInfos(infos: string | null): readonly SensorInfo[] {
  return infos === null ? [] : (JSON.parse(infos) as SensorInfo[])
}
