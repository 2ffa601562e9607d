// `thermolog sensor`: a user's sensors.

import { counted, grouped } from '../domain/grouped.ts'
import { compensate, isOnline, onlineTimes } from '../domain/sensor.ts'
import type { Sensor } from '../domain/sensor.ts'
import { formatInstant } from '../domain/time.ts'
import {
  deleteSensor,
  findSensor,
  noSensor,
  previewSensorDeletion,
} from '../operations/delete-data.ts'
import type { DeletedSensor } from '../operations/delete-data.ts'
import { failed, usage } from '../operations/failure.ts'
import { checkSerialNumber } from '../operations/serial-number.ts'
import { idReader, nameReader, readCompensation, readEmail } from './arguments.ts'
import { optional, required } from './command.ts'
import type { Shown } from './command.ts'
import { findOwner, findUser, operatorCommand } from './context.ts'
import type { Context } from './context.ts'

export interface ListedSensor extends Sensor {
  readonly isOnline: boolean
}

const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

const readAlias = nameReader('an alias')
const owner = required('--user <address>', 'e-mail address of the owner', readEmail)
const id = required(
  '<id>',
  'the id, see `thermolog sensor list`',
  idReader('thermolog sensor list --user …'),
)

const create = operatorCommand({
  path: 'sensor create',
  help: 'register a sensor; with AUTO_REGISTER=true its first measurement does this too',
  example: 'thermolog sensor create --user a@example.org --sn 28FF641E93160434 --alias Cellar',
  json: 'print JSON',
  arguments: {
    user: owner,
    sn: required(
      '--sn <serial number>',
      'the serial number, as the daemon sends it',
      checkSerialNumber,
    ),
    alias: optional('--alias <name>', 'display name; default: the serial number', readAlias),
  },
  run: async (context, { user, sn, alias }) => {
    const { id: userId, email } = await findOwner(context, user)
    const sensor = await context.controlWriter.createSensor(userId, sn, alias)
    if (sensor === 'taken') {
      throw failed(
        `${email} already has a sensor ${sn}`,
        'Case does not matter, nor do : - . _ between hexadecimal digits.',
      )
    }
    if (sensor === 'quota') {
      const most = grouped(context.settings.sensorsPerUserMax)
      throw failed(
        `${email} already has ${most} sensors, the most a user may have`,
        'Delete one, or raise MAX_SENSORS_PER_USER.',
      )
    }
    return listed(sensor, context)
  },
  present: showSensor,
})

const list = operatorCommand({
  path: 'sensor list',
  help: "list a user's sensors: what each measured last, and whether it is online",
  example: 'thermolog sensor list --user a@example.org',
  json: 'print JSON',
  arguments: { user: owner },
  run: async (context, { user }) => {
    const { id: userId } = await findUser(context, user)
    return (await context.control.listSensors(userId)).map((sensor) => listed(sensor, context))
  },
  present: (sensors) => ({
    json: sensors.map(presentSensor),
    lines: [{ rows: sensors.map(rowOf), whenEmpty: 'no sensors yet' }],
  }),
})

const change = operatorCommand({
  path: 'sensor set',
  help: 'change the name or the compensation of a sensor, for old measurements too',
  example: 'thermolog sensor set 7 --compensation -0.4',
  json: 'print JSON',
  arguments: {
    id,
    alias: optional('--alias <name>', 'display name', readAlias),
    compensation: optional(
      '--compensation <celsius>',
      'what to add to every reading, in °C',
      readCompensation,
    ),
  },
  check: ({ alias, compensation }) => {
    if (alias !== undefined || compensation !== undefined) return
    throw usage('nothing to change', 'Add --alias, --compensation or both.')
  },
  run: async (context, { id: sensorId, alias, compensation }) => {
    const { userId } = await findSensor(context.control, sensorId)
    const sensor = await context.controlWriter.changeSensor(userId, sensorId, {
      ...(alias !== undefined && { alias }),
      ...(compensation !== undefined && { compensationCelsius: compensation }),
    })
    if (sensor === undefined) throw noSensor(sensorId)
    return listed(sensor, context)
  },
  present: showSensor,
})

const remove = operatorCommand({
  path: 'sensor delete',
  help: 'delete a sensor with all its measurements',
  example: 'thermolog sensor delete 7',
  arguments: { id },
  deletes: async ({ control }, { id: sensorId }) =>
    described(await previewSensorDeletion(control, await findSensor(control, sensorId))),
  run: async (context, { id: sensorId }) =>
    deleteSensor(context, await findSensor(context.control, sensorId)),
  present: (deleted) => ({ notes: [`deleted ${described(deleted)}`] }),
})

export const commands = [create, list, change, remove] as const

function listed(sensor: Sensor, { clock, settings }: Context): ListedSensor {
  return { ...sensor, isOnline: isOnline(sensor, onlineTimes(clock.nowMs(), settings)) }
}

function described(deleted: DeletedSensor): string {
  const { serialNumber, alias, user, measurements } = deleted
  const name = alias === serialNumber ? serialNumber : `${serialNumber}, ${JSON.stringify(alias)}`
  return `sensor ${deleted.id} (${name}) of ${user} with ${counted(measurements, 'measurement')}`
}

function showSensor(sensor: ListedSensor): Shown {
  const { serialNumber, alias, compensationCelsius } = sensor
  const row = { id: sensor.id, sn: serialNumber, alias, compensation: compensationCelsius }
  return { json: presentSensor(sensor), lines: [{ rows: [row], whenEmpty: '' }] }
}

/** What usual names leave 80 columns of. */
function rowOf(sensor: ListedSensor) {
  const { serialNumber, alias } = sensor
  const latest = latestOf(sensor)
  return {
    id: sensor.id,
    sn: serialNumber,
    alias,
    'temp °C': latest && latest.temp.toFixed(2).padStart(6),
    state: latest === null ? 'never' : sensor.isOnline ? 'online' : 'silent',
    [`time (${LOCAL_ZONE})`]: latest && localMinute(latest.measuredAtMs),
  }
}

/** `2026-11-20 11:15`, in the time zone of this machine. */
function localMinute(atMs: number): string {
  return new Date(atMs).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short' })
}

function presentSensor(sensor: ListedSensor) {
  const { lastSeenAtMs } = sensor
  const latest = latestOf(sensor)
  return {
    id: sensor.id,
    sn: sensor.serialNumber,
    alias: sensor.alias,
    compensation: sensor.compensationCelsius,
    online: sensor.isOnline,
    last_seen_at: lastSeenAtMs === null ? null : formatInstant(lastSeenAtMs),
    latest: latest && {
      timestamp: formatInstant(latest.measuredAtMs),
      temp: latest.temp,
      raw: latest.rawCelsius,
    },
    created_at: formatInstant(sensor.createdAtMs),
  }
}

function latestOf({ latest, compensationCelsius }: ListedSensor) {
  return latest && { ...latest, temp: compensate(latest.rawCelsius, compensationCelsius) }
}
