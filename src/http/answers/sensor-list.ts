// All sensors of a user as a response. Ten thousand of them take tens of milliseconds of the main
// thread, so they are written in pieces, between which all others have their turn; and for few
// requests at a time, as each keeps the sensors that it has read until its client has taken them.

import type { Sensors, SensorState } from '../../sensors/sensors.ts'
import { answerUnchanged, entityTag, isKnown, JSON_TYPE } from '../call/call.ts'
import type { ApiCall } from '../call/call.ts'
import { answerInPieces } from './long-answers.ts'
import type { LongAnswers } from './long-answers.ts'
import { presentSensor } from './present.ts'

/** A piece takes a few milliseconds. */
const PIECE_ITEMS = 500

export interface SensorLists {
  readonly sensors: Sensors
  /** All that a user has of something. */
  readonly lists: LongAnswers
}

/**
 * Responds with all sensors of the caller, or with 304 if the client has them already.
 *
 * @param name of the response: together with the version of the sensors, its tag
 * @param shell the response with its last list empty: that of the sensors
 */
export async function answerSensorList(
  call: ApiCall,
  { sensors, lists }: SensorLists,
  name: string,
  shell: (states: readonly SensorState[]) => object,
): Promise<void> {
  const { ctx, principal } = call
  const userId = principal.user.id
  ctx.set('Cache-Control', 'private, no-cache')
  // Before it takes a place: the user's server may not answer, while those of others do.
  const tag = entityTag(`${name} ${await sensors.readVersion(userId)}`)
  if (isKnown(ctx, tag)) return answerUnchanged(ctx, tag)
  await answerInPieces(ctx, lists, userId, async () => {
    const states = await sensors.list(userId)
    ctx.set('ETag', tag)
    ctx.set('Content-Type', JSON_TYPE)
    return itemsWithin(shell(states), states, presentSensor)
  })
}

/** The text of an object whose last list is empty, with items in that list. */
export async function* itemsWithin<Item>(
  shell: object,
  items: readonly Item[],
  present: (item: Item) => object,
): AsyncIterable<Buffer> {
  const text = JSON.stringify(shell)
  const at = text.lastIndexOf('[]') + 1
  yield Buffer.from(text.slice(0, at))
  for (let from = 0; from < items.length; from += PIECE_ITEMS) {
    const piece = JSON.stringify(items.slice(from, from + PIECE_ITEMS).map(present)).slice(1, -1)
    yield Buffer.from(from === 0 ? piece : `,${piece}`)
  }
  yield Buffer.from(text.slice(at))
}
