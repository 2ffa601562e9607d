// Everything for the first page of an app in one response, from one read transaction of the control
// data, so it never waits for the measurement store.

import type { ApiCall } from '../call/call.ts'
import { presentDashboard } from '../answers/present.ts'
import { answerSensorList } from '../answers/sensor-list.ts'
import type { SensorLists } from '../answers/sensor-list.ts'

export function showDashboard(lists: SensorLists) {
  return async (call: ApiCall): Promise<void> => {
    const { user } = call.principal
    const name = JSON.stringify(['dashboard', user.id, user.email, user.name])
    await answerSensorList(call, lists, name, (states) => presentDashboard(user, states))
  }
}
