// Everything for the first page of an app in one response, from one read transaction of the control
// data, so it never waits for the measurement store.

import type { Sensors } from '../../sensors/sensors.ts'
import { answerJson, answerUnchanged, entityTag, isKnown } from '../answers/call.ts'
import type { ApiCall } from '../answers/call.ts'
import { presentDashboard } from '../answers/present.ts'

export function showDashboard(sensors: Sensors) {
  return async (call: ApiCall): Promise<void> => {
    const { ctx, principal } = call
    const { id, email, name } = principal.user
    const tagOf = (version: string) =>
      entityTag(JSON.stringify(['dashboard', id, email, name, version]))
    const { version, states } = await sensors.listUnlessKnown(id, (current) =>
      isKnown(ctx, tagOf(current)),
    )
    ctx.set('Cache-Control', 'private, no-cache')
    if (states === undefined) return answerUnchanged(ctx, tagOf(version))
    ctx.set('ETag', tagOf(version))
    answerJson(call, 200, JSON.stringify(presentDashboard(principal.user, states)))
  }
}
