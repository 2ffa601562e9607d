// Deletes users and sensors with their measurements, after a preview of what would be deleted. The
// preview's counts keep changing while senders send, so what was really deleted is counted again.

import type { AccessTokens } from '../access/tokens.ts'
import type { User } from '../domain/access.ts'
import type { Sensor } from '../domain/sensor.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import { failed } from './failure.ts'

/** Sensors whose measurements are counted in one statement: each may have a row a day. */
const COUNTED_AT_ONCE = 500

export interface DeletedUser {
  readonly id: number
  /** How many sensors are deleted with the user. */
  readonly sensors: number
  /** How many measurements of these sensors were accepted. */
  readonly measurements: number
}

export interface DeletedSensor {
  readonly id: number
  readonly serialNumber: string
  readonly alias: string
  /** The e-mail address of the owner. */
  readonly user: string
  /** How many measurements of it were accepted. */
  readonly measurements: number
}

interface Collaborators {
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly accessTokens?: Pick<AccessTokens, 'forgetUser'>
}

export async function previewUserDeletion(
  control: ControlReader,
  { id }: User,
): Promise<DeletedUser> {
  const sensors = await control.listSensors(id)
  const ids = sensors.map((sensor) => sensor.id)
  let measurements = 0
  for (let at = 0; at < ids.length; at += COUNTED_AT_ONCE) {
    measurements += await control.countMeasurements(ids.slice(at, at + COUNTED_AT_ONCE))
  }
  return { id, sensors: sensors.length, measurements }
}

export async function deleteUser(
  { control, controlWriter, accessTokens }: Collaborators,
  user: User,
): Promise<DeletedUser> {
  const { measurements } = await previewUserDeletion(control, user)
  const sensors = await controlWriter.deleteUser(user.id)
  accessTokens?.forgetUser(user.id)
  if (sensors === undefined) throw failed(`user ${user.email} has already been deleted`)
  return { id: user.id, sensors, measurements }
}

export async function previewSensorDeletion(
  control: ControlReader,
  sensor: Sensor,
): Promise<DeletedSensor> {
  const { id, serialNumber, alias, userId } = sensor
  const owner = (await control.listUsers()).find((user) => user.id === userId)
  const measurements = await control.countMeasurements([id])
  return { id, serialNumber, alias, user: owner?.email ?? '', measurements }
}

export async function deleteSensor(
  { control, controlWriter }: Collaborators,
  sensor: Sensor,
): Promise<DeletedSensor> {
  const deleted = await previewSensorDeletion(control, sensor)
  if (!(await controlWriter.deleteSensor(sensor.userId, sensor.id))) throw noSensor(sensor.id)
  return deleted
}

/** @throws OperationError if no user has a sensor with that id */
export async function findSensor(control: ControlReader, id: number): Promise<Sensor> {
  const sensor = await control.findSensorOfAnyone(id)
  if (sensor === undefined) throw noSensor(id)
  return sensor
}

export function noSensor(sensorId: number) {
  return failed(`no sensor has the id ${sensorId}`, 'See `thermolog sensor list --user …`.')
}
