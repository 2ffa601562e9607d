// `thermolog journal`: what waits for the measurement store, and what the store has refused.

import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { formatInstant } from '../domain/time.ts'
import type { SetAsideMeasurement } from '../ports.ts'
import { example } from './example.ts'
import { withOperations } from './open-operations.ts'
import { printJson, printTable } from './print.ts'

interface ChoiceOptions {
  readonly all?: boolean
}

export function addJournalCommands(program: Command): void {
  const journal = program
    .command('journal')
    .description('measurements that the measurement store has refused')
  journal
    .command('list')
    .description('list what is set aside, with the reason that the store gave')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog journal list --json'))
    .action(list)
  journal
    .command('retry')
    .description('have set-aside measurements written to the store once more')
    .argument('[id...]', 'which ones, see thermolog journal list', readIds)
    .option('--all', 'all of them')
    .addHelpText('after', example('thermolog journal retry --all'))
    .action(retry)
  journal
    .command('drop')
    .description('give set-aside measurements up for good')
    .argument('[id...]', 'which ones, see thermolog journal list', readIds)
    .option('--all', 'all of them')
    .addHelpText('after', example('thermolog journal drop 3 4'))
    .action(drop)
}

async function list({ json }: { readonly json?: boolean }): Promise<void> {
  const listed = await withOperations((operations) => operations.listSetAside({}))
  if (json === true) printJson(listed.measurements.map(present))
  else printTable(listed.measurements.map(present), 'nothing is set aside')
  const more = listed.count - listed.measurements.length
  if (more > 0) process.stderr.write(`and ${more} more\n`)
}

async function retry(ids: readonly number[], options: ChoiceOptions): Promise<void> {
  const choice = choose(ids, options)
  const { count } = await withOperations((operations) => operations.retrySetAside(choice))
  process.stderr.write(`${count} measurements are written to the store again\n`)
}

async function drop(ids: readonly number[], options: ChoiceOptions): Promise<void> {
  const choice = choose(ids, options)
  const { count } = await withOperations((operations) => operations.dropSetAside(choice))
  process.stderr.write(`${count} measurements are given up\n`)
}

function choose(ids: readonly number[], { all }: ChoiceOptions): { ids?: readonly number[] } {
  if (all === true && ids.length === 0) return {}
  if (all !== true && ids.length > 0) return { ids }
  throw new InvalidArgumentError('Name ids, or give --all.')
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

function readIds(text: string, before: readonly number[] = []): readonly number[] {
  if (!/^[1-9]\d{0,14}$/.test(text)) {
    throw new InvalidArgumentError('An id is a positive integer.')
  }
  return [...before, Number(text)]
}
