// All sensors of a user as a response. Ten thousand of them take tens of milliseconds of the main
// thread, so they are written in parts, between which all others have their turn; and for few
// requests at a time, as those that have read their sensors keep them in memory.

import type { Sensors, SensorState } from '../../sensors/sensors.ts'
import { answerJson, answerUnchanged, ClientGone, entityTag, isKnown } from '../call/call.ts'
import type { ApiCall } from '../call/call.ts'
import type { LongAnswer, LongAnswers } from './long-answers.ts'
import { presentSensor } from './present.ts'

/** A part takes a few milliseconds. */
const PART_SENSORS = 500

export interface SensorLists {
  readonly sensors: Sensors
  /** Lists of all sensors of a user. */
  readonly sensorLists: LongAnswers
}

/**
 * Responds with all sensors of the caller, or with 304 if the client has them already.
 *
 * @param name of the response: together with the version of the sensors, its tag
 * @param shell the response with its last list empty: that of the sensors
 */
export async function answerSensorList(
  call: ApiCall,
  { sensors, sensorLists }: SensorLists,
  name: string,
  shell: (states: readonly SensorState[]) => object,
): Promise<void> {
  const { ctx, principal } = call
  const userId = principal.user.id
  ctx.set('Cache-Control', 'private, no-cache')
  // Before it takes a place: the user's server may not answer, while those of others do.
  const tag = entityTag(`${name} ${await sensors.readVersion(userId)}`)
  if (isKnown(ctx, tag)) return answerUnchanged(ctx, tag)
  const answer = await sensorLists.begin(userId)
  try {
    if (ctx.req.socket.destroyed) throw new ClientGone()
    const states = await sensors.list(userId)
    ctx.set('ETag', tag)
    answerJson(call, 200, await textOf(answer, JSON.stringify(shell(states)), states))
  } finally {
    answer.end()
  }
}

async function textOf(
  answer: LongAnswer,
  shell: string,
  states: readonly SensorState[],
): Promise<string> {
  const at = shell.lastIndexOf('[]') + 1
  const parts: string[] = []
  for (let from = 0; from < states.length; from += PART_SENSORS) {
    if (from > 0) await answer.turn()
    const part = states.slice(from, from + PART_SENSORS).map(presentSensor)
    parts.push(JSON.stringify(part).slice(1, -1))
  }
  return shell.slice(0, at) + parts.join(',') + shell.slice(at)
}
