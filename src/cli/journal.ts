// `thermolog journal`: measurements that the measurement store has refused.

import type { Command } from 'commander'
import { formatInstant } from '../domain/time.ts'
import type { SetAsideMeasurement } from '../ports/store-upkeep.ts'
import { chooseIds, example, idsReader } from './arguments.ts'
import { confirmDeletion } from './confirm.ts'
import type { DeletionOptions } from './confirm.ts'
import { withOperations } from './open-operations.ts'
import { counted, printJson, printNote, printTable } from './terminal/print.ts'

const readIds = idsReader('thermolog journal list')

interface ChoiceOptions {
  readonly all?: boolean
}

export function addCommands(program: Command): void {
  const journal = program
    .command('journal')
    .description('handle measurements that the measurement store has refused')
    .addHelpText('after', example('thermolog journal list'))
  journal
    .command('list')
    .description('list refused measurements with the reason the store gave')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog journal list --json'))
    .action(list)
  journal
    .command('retry')
    .description('write refused measurements to the store again')
    .argument('[id...]', 'ids, see `thermolog journal list`', readIds)
    .option('--all', 'all refused measurements')
    .addHelpText('after', example('thermolog journal retry --all'))
    .action(retry)
  journal
    .command('drop')
    .description('delete refused measurements permanently')
    .argument('[id...]', 'ids, see `thermolog journal list`', readIds)
    .option('--all', 'all refused measurements')
    .option('--yes', 'delete without asking')
    .addHelpText('after', example('thermolog journal drop 3 4'))
    .action(drop)
}

async function list({ json }: { readonly json?: boolean }): Promise<void> {
  const listed = await withOperations((operations) => operations.listSetAside({}))
  if (json === true) printJson(listed.measurements.map(present))
  else printTable(listed.measurements.map(present), 'no refused measurements')
  const more = listed.count - listed.measurements.length
  if (more > 0) printNote(`and ${more} more`)
}

async function retry(ids: readonly number[], options: ChoiceOptions): Promise<void> {
  const choice = chooseIds('journal retry', ids, options)
  const { count } = await withOperations((operations) => operations.retrySetAside(choice))
  printNote(`${counted(count, 'measurement')} queued for the store again`)
}

async function drop(
  ids: readonly number[],
  options: ChoiceOptions & DeletionOptions,
): Promise<void> {
  const choice = chooseIds('journal drop', ids, options)
  await confirmDeletion(options, async () => {
    const { count } = await withOperations((operations) => operations.previewDrop(choice))
    return count === 0 ? undefined : counted(count, 'refused measurement')
  })
  const { count } = await withOperations((operations) => operations.dropSetAside(choice))
  printNote(`deleted ${counted(count, 'refused measurement')}`)
}

function present(measurement: SetAsideMeasurement) {
  return {
    id: measurement.id,
    sensor_id: measurement.sensorId,
    timestamp: formatInstant(measurement.measuredAtMs),
    temp: measurement.tempCelsius,
    set_aside_at: formatInstant(measurement.setAsideAtMs),
    reason: measurement.reason,
  }
}
