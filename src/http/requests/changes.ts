// What has changed since a cursor, for apps that keep sensors and histories.

import type { RequestFault } from '../../domain/errors.ts'
import type { Sensors } from '../../sensors/sensors.ts'
import { answerJson } from '../call/call.ts'
import type { ApiCall } from '../call/call.ts'
import { presentChanges } from '../answers/present.ts'
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

export function showChanges(sensors: Sensors) {
  return async (call: ApiCall, since: string | undefined): Promise<void> => {
    const changes = await sensors.changes(call.principal.user.id, since)
    call.ctx.set('Cache-Control', 'no-store')
    answerJson(call, 200, JSON.stringify(presentChanges(changes)))
  }
}
