// `thermolog sensor`: sensors that are to be known before they are heard of, and those that are.

import type { Command } from 'commander'
import type { Sensor } from '../domain/sensor.ts'
import { formatInstant } from '../domain/time.ts'
import { example } from './example.ts'
import { withOperations } from './open-operations.ts'
import { printJson, printTable } from './print.ts'

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

export function addSensorCommands(program: Command): void {
  const sensor = program.command('sensor').description('create and list sensors')
  sensor
    .command('create')
    .description('register a sensor; with AUTO_REGISTER=true its first measurement does it too')
    .requiredOption('--user <address>', 'whose sensor it is')
    .requiredOption('--sn <serial number>', 'as the daemon sends it')
    .option('--alias <name>', 'a name for people; falls back to the serial number')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      example('thermolog sensor create --user a@example.org --sn 28FF641E93160434 --alias Cellar'),
    )
    .action(create)
  sensor
    .command('list')
    .description("list a user's sensors")
    .requiredOption('--user <address>', 'whose sensors')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog sensor list --user a@example.org'))
    .action(list)
}

async function create({ user, sn, alias, json }: CreateOptions): Promise<void> {
  const order = { user, serialNumber: sn, ...(alias === undefined ? {} : { alias }) }
  const sensor = await withOperations((operations) => operations.createSensor(order))
  if (json === true) printJson(presentSensor(sensor))
  else printTable([presentSensor(sensor)], '')
}

async function list({ user, json }: ListOptions): Promise<void> {
  const sensors = await withOperations((operations) => operations.listSensors({ user }))
  if (json === true) printJson(sensors.map(presentSensor))
  else printTable(sensors.map(presentSensor), 'no sensors yet')
}

function presentSensor(sensor: Sensor) {
  const { lastSeenAtMs } = sensor
  return {
    id: sensor.id,
    sn: sensor.serialNumber,
    alias: sensor.alias,
    compensation: sensor.compensationCelsius,
    last_seen_at: lastSeenAtMs === null ? null : formatInstant(lastSeenAtMs),
    created_at: formatInstant(sensor.createdAtMs),
  }
}
