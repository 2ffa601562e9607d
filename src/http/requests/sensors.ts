// The sensors of the caller: listing, showing, changing and deleting them.

import { ServiceError } from '../../domain/errors.ts'
import type { SensorChange } from '../../domain/sensor.ts'
import type { Sensors } from '../../sensors/sensors.ts'
import { answerJson } from '../call/call.ts'
import type { ApiCall, SensorCall } from '../call/call.ts'
import { presentSensor } from '../answers/present.ts'
import { answerSensorList } from '../answers/sensor-list.ts'
import type { SensorLists } from '../answers/sensor-list.ts'
import { jsonInput, nameFaults } from '../routes/input.ts'

export function listSensors(lists: SensorLists) {
  return (call: ApiCall): Promise<void> =>
    answerSensorList(call, lists, `sensors ${call.principal.user.id}`, () => ({ data: [] }))
}

export function showSensor(sensors: Sensors) {
  return (call: SensorCall): void => {
    const state = sensors.stateOf(call.sensor)
    answerJson(call, 200, JSON.stringify({ data: presentSensor(state) }))
  }
}

/** The change that a patch asks for. */
export const sensorPatch = jsonInput('sensor-patch', {
  read({ valid, members: { alias }, faults }): SensorChange {
    const trimmed = typeof alias === 'string' ? alias.trim() : undefined
    if (trimmed !== undefined) faults.push(...nameFaults('/alias', trimmed))
    const { compensation } = valid ?? {}
    return {
      ...(trimmed !== undefined && { alias: trimmed }),
      ...(compensation !== undefined && { compensationCelsius: compensation + 0 }),
    }
  },
})

export function patchSensor(sensors: Sensors) {
  return async (call: SensorCall, change: SensorChange): Promise<void> => {
    const state = await sensors.change(call.principal.user.id, call.sensor.id, change)
    // It may have been deleted since the path was looked up.
    if (state === undefined) throw new ServiceError('sensor_not_found')
    answerJson(call, 200, JSON.stringify({ data: presentSensor(state) }))
  }
}

export function deleteSensor(sensors: Sensors) {
  return async ({ ctx, principal, sensor }: SensorCall): Promise<void> => {
    const wasThere = await sensors.delete(principal.user.id, sensor.id)
    if (!wasThere) throw new ServiceError('sensor_not_found')
    ctx.status = 204
  }
}
