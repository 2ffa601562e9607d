// What has changed since a cursor, for apps that keep sensors and histories. Few changes are told
// at once; many are read when there is a place for a list.

import type { RequestFault } from '../../domain/errors.ts'
import { answerJson, JSON_TYPE } from '../call/call.ts'
import type { ApiCall } from '../call/call.ts'
import { answerInPieces } from '../answers/long-answers.ts'
import { presentChanges, presentSensor } from '../answers/present.ts'
import { itemsWithin } from '../answers/sensor-list.ts'
import type { SensorLists } from '../answers/sensor-list.ts'
import { none, readQuery, throwFaults } from '../routes/input.ts'
import type { Input } from '../routes/input.ts'

/** The cursor, `undefined` without one. */
export const changesQuery: Input<string | undefined> = {
  ...none,
  querySchema: 'changes-query',
  read({ query }) {
    const faults: RequestFault[] = []
    const { since } = readQuery(query, 'changes-query', faults)
    throwFaults(faults)
    return since
  },
}

/** So many take less than a small answer may have, whatever their names are. */
const FEW = 40

export function showChanges({ sensors, lists }: SensorLists) {
  return async (call: ApiCall, since: string | undefined): Promise<void> => {
    const { ctx, principal } = call
    const userId = principal.user.id
    const few = since === undefined ? undefined : await sensors.fewChanges(userId, since, FEW)
    if (few !== undefined) {
      const { data } = presentChanges(few)
      const shown = { ...data, sensors: few.states.map(presentSensor) }
      return answerJson(call, 200, JSON.stringify({ data: shown }))
    }
    await answerInPieces(ctx, lists, userId, async () => {
      const changes = await sensors.changes(userId, since)
      ctx.set('Content-Type', JSON_TYPE)
      return itemsWithin(presentChanges(changes), changes.states, presentSensor)
    })
  }
}
