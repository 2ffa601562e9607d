// `thermolog sensor`: registering, listing and changing sensors.

import type { Command } from 'commander'
import { compensate } from '../domain/sensor.ts'
import { formatInstant } from '../domain/time.ts'
import { usage } from '../operations/operations.ts'
import type { DeletedSensor, ListedSensor } from '../operations/operations.ts'
import { example, idReader, numberReader } from './arguments.ts'
import { confirmDeletion } from './confirm.ts'
import type { DeletionOptions } from './confirm.ts'
import { withOperations } from './open-operations.ts'
import {
  counted,
  LOCAL_ZONE,
  localMinute,
  printJson,
  printNote,
  printTable,
} from './terminal/print.ts'

const readId = idReader('thermolog sensor list --user …')
const readCompensation = numberReader('--compensation')

interface CreateOptions {
  readonly user: string
  readonly sn: string
  readonly alias?: string
  readonly json?: boolean
}

interface ListOptions {
  readonly user: string
  readonly json?: boolean
}

interface SetOptions {
  readonly alias?: string
  readonly compensation?: number
  readonly json?: boolean
}

export function addCommands(program: Command): void {
  const sensor = program
    .command('sensor')
    .description('manage sensors')
    .addHelpText('after', example('thermolog sensor list --user a@example.org'))
  sensor
    .command('create')
    .description('register a sensor; with AUTO_REGISTER=true its first measurement does this too')
    .requiredOption('--user <address>', 'e-mail address of the owner')
    .requiredOption('--sn <serial number>', 'the serial number, as the daemon sends it')
    .option('--alias <name>', 'display name; default: the serial number')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      example('thermolog sensor create --user a@example.org --sn 28FF641E93160434 --alias Cellar'),
    )
    .action(create)
  sensor
    .command('list')
    .description("list a user's sensors: what each measured last, and whether it is online")
    .requiredOption('--user <address>', 'e-mail address of the owner')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog sensor list --user a@example.org'))
    .action(list)
  sensor
    .command('set')
    .description('change the name or the compensation of a sensor, for old measurements too')
    .argument('<id>', 'the id, see `thermolog sensor list`', readId)
    .option('--alias <name>', 'display name')
    .option('--compensation <celsius>', 'what to add to every reading, in °C', readCompensation)
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog sensor set 7 --compensation -0.4'))
    .action(change)
  sensor
    .command('delete')
    .description('delete a sensor with all its measurements')
    .argument('<id>', 'the id, see `thermolog sensor list`', readId)
    .option('--yes', 'delete without asking')
    .addHelpText('after', example('thermolog sensor delete 7'))
    .action(deleteSensor)
}

async function create({ user, sn, alias, json }: CreateOptions): Promise<void> {
  const order = { user, serialNumber: sn, ...(alias === undefined ? {} : { alias }) }
  const sensor = await withOperations((operations) => operations.createSensor(order))
  show(sensor, json)
}

async function list({ user, json }: ListOptions): Promise<void> {
  const sensors = await withOperations((operations) => operations.listSensors({ user }))
  if (json === true) printJson(sensors.map(presentSensor))
  else printTable(sensors.map(rowOf), 'no sensors yet')
}

async function change(id: number, { alias, compensation, json }: SetOptions): Promise<void> {
  if (alias === undefined && compensation === undefined) {
    throw usage('nothing to change', 'Add --alias, --compensation or both.')
  }
  const order = {
    id,
    ...(alias === undefined ? {} : { alias }),
    ...(compensation === undefined ? {} : { compensationCelsius: compensation }),
  }
  const sensor = await withOperations((operations) => operations.changeSensor(order))
  show(sensor, json)
}

async function deleteSensor(id: number, options: DeletionOptions): Promise<void> {
  await confirmDeletion(options, async () =>
    described(await withOperations((operations) => operations.previewSensorDeletion({ id }))),
  )
  const deleted = await withOperations((operations) => operations.deleteSensor({ id }))
  printNote(`deleted ${described(deleted)}`)
}

function described({ id, serialNumber, alias, user, measurements }: DeletedSensor): string {
  const name = alias === serialNumber ? serialNumber : `${serialNumber}, ${JSON.stringify(alias)}`
  return `sensor ${id} (${name}) of ${user} with ${counted(measurements, 'measurement')}`
}

function show(sensor: ListedSensor, json = false): void {
  if (json) return printJson(presentSensor(sensor))
  const { id, serialNumber, alias, compensationCelsius } = sensor
  printTable([{ id, sn: serialNumber, alias, compensation: compensationCelsius }], '')
}

/** What usual names leave 80 columns of. */
function rowOf(sensor: ListedSensor) {
  const { id, serialNumber, alias, isOnline } = sensor
  const latest = latestOf(sensor)
  return {
    id,
    sn: serialNumber,
    alias,
    'temp °C': latest && latest.temp.toFixed(2).padStart(6),
    state: latest === null ? 'never' : isOnline ? 'online' : 'silent',
    [`time (${LOCAL_ZONE})`]: latest && localMinute(latest.measuredAtMs),
  }
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
