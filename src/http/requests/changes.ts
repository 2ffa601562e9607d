// What has changed since a cursor, for apps that keep sensors and histories.

import type { RequestFault } from '../../domain/errors.ts'
import type { Sensors } from '../../sensors/sensors.ts'
import { answerJson } from '../call.ts'
import type { ApiCall } from '../call.ts'
import { presentChanges } from '../answers/present.ts'
import { noBody } from '../body/gate.ts'
import { isChangesQuery } from '../body/validate.ts'
import { readQuery, throwFaults } from '../input.ts'
import type { Input } from '../input.ts'

/** The cursor, `undefined` without one. */
export const changesQuery: Input<string | undefined> = {
  bounds: noBody,
  querySchema: 'changes-query',
  read({ query }) {
    const faults: RequestFault[] = []
    const { since } = readQuery(query, isChangesQuery, faults)
    throwFaults(faults)
    return since
  },
}

export function showChanges(sensors: Sensors) {
  return async (call: ApiCall, since: string | undefined): Promise<void> => {
    const changes = await sensors.changes(call.principal.user.id, since)
    call.ctx.set('Cache-Control', 'no-store')
    answerJson(call, 200, JSON.stringify(presentChanges(changes)))
  }
}
