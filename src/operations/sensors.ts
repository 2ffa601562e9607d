// Registers, lists and changes sensors, and says of each whether it is online.

import type { User } from '../domain/access.ts'
import { grouped } from '../domain/grouped.ts'
import { isOnline, onlineTimes } from '../domain/sensor.ts'
import type { OnlineSettings, Sensor } from '../domain/sensor.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { Clock } from '../ports/system.ts'
import { checkCompensation, checkName, checkSerialNumber } from './check-arguments.ts'
import { findSensor, noSensor } from './delete-data.ts'
import { failed, usage } from './operations.ts'
import type {
  ListedSensor,
  OperationsSettings,
  SensorChangeOrder,
  SensorOrder,
} from './operations.ts'

interface Collaborators {
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly clock: Clock
}

export async function createSensor(
  { controlWriter, clock }: Collaborators,
  user: User,
  order: SensorOrder,
  settings: OperationsSettings,
): Promise<ListedSensor> {
  const serialNumber = checkSerialNumber(order.serialNumber)
  const alias = order.alias === undefined ? undefined : checkName('an alias', order.alias)
  const sensor = await controlWriter.createSensor(user.id, serialNumber, alias)
  if (sensor === 'taken') {
    throw failed(
      `${user.email} already has a sensor ${serialNumber}`,
      'Case does not matter, nor do : - . _ between hexadecimal digits.',
    )
  }
  if (sensor === 'quota') {
    const most = grouped(settings.sensorsPerUserMax)
    throw failed(
      `${user.email} already has ${most} sensors, the most a user may have`,
      'Delete one, or raise MAX_SENSORS_PER_USER.',
    )
  }
  return listed(sensor, clock, settings)
}

export async function listSensors(
  { control, clock }: Collaborators,
  user: User,
  settings: OnlineSettings,
): Promise<readonly ListedSensor[]> {
  return (await control.listSensors(user.id)).map((sensor) => listed(sensor, clock, settings))
}

export async function changeSensor(
  { control, controlWriter, clock }: Collaborators,
  { id, alias, compensationCelsius }: SensorChangeOrder,
  settings: OnlineSettings,
): Promise<ListedSensor> {
  const { userId } = await findSensor(control, id)
  const change = {
    ...(alias === undefined ? {} : { alias: checkName('an alias', alias) }),
    ...(compensationCelsius === undefined
      ? {}
      : { compensationCelsius: checkCompensation(compensationCelsius) }),
  }
  if (Object.keys(change).length === 0) {
    throw usage('nothing to change', 'Name an alias, a compensation or both.')
  }
  const sensor = await controlWriter.changeSensor(userId, id, change)
  if (sensor === undefined) throw noSensor(id)
  return listed(sensor, clock, settings)
}

function listed(sensor: Sensor, clock: Clock, settings: OnlineSettings): ListedSensor {
  return { ...sensor, isOnline: isOnline(sensor, onlineTimes(clock.nowMs(), settings)) }
}
