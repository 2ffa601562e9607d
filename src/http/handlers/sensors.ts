// The sensors of the caller.

import { ServiceError } from '../../domain/errors.ts'
import type { SensorChange } from '../../domain/sensor.ts'
import type { Sensors } from '../../sensors/sensors.ts'
import { answerJson } from '../call.ts'
import type { ApiCall, SensorCall } from '../call.ts'
import { answerUnchanged, entityTag, isKnown } from '../entity-tag.ts'
import { presentSensor } from '../present.ts'

export function listSensors(sensors: Sensors) {
  return async (call: ApiCall): Promise<void> => {
    const { ctx, principal } = call
    const userId = principal.user.id
    const tagOf = (version: string) => entityTag(`sensors ${userId} ${version}`)
    const { version, states } = await sensors.listUnlessKnown(userId, (current) =>
      isKnown(ctx, tagOf(current)),
    )
    ctx.set('Cache-Control', 'private, no-cache')
    if (states === undefined) return answerUnchanged(ctx, tagOf(version))
    ctx.set('ETag', tagOf(version))
    answerJson(call, 200, JSON.stringify({ data: states.map(presentSensor) }))
  }
}

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
