// `thermolog journal`: measurements set aside because the measurement store would not take them.

import type { Command } from 'commander'
import { formatInstant } from '../domain/time.ts'
import type { SetAsideChoice } from '../operations/operations.ts'
import type { SetAsideMeasurement } from '../ports/store-upkeep.ts'
import { example } from './arguments.ts'
import { withOperations } from './open-operations.ts'
import { addRetryAndDrop } from './retry-or-drop.ts'
import { counted, printJson, printNote, printTable } from './terminal/print.ts'

export function addCommands(program: Command): void {
  const journal = program
    .command('journal')
    .description('handle measurements set aside because the store would not take them')
    .addHelpText('after', example('thermolog journal list'))
  journal
    .command('list')
    .description('list them with the reason the store gave')
    .option('--json', 'print JSON')
    .addHelpText('after', example('thermolog journal list --json'))
    .action(list)
  addRetryAndDrop(journal, {
    name: 'journal',
    item: 'set-aside measurement',
    items: 'set-aside measurements',
    retrying: 'write them to the store again',
    retry,
    preview: (choice) => withOperations((operations) => operations.previewDrop(choice)),
    drop: (choice) => withOperations((operations) => operations.dropSetAside(choice)),
  })
}

async function list({ json }: { readonly json?: boolean }): Promise<void> {
  const listed = await withOperations((operations) => operations.listSetAside({}))
  if (json === true) printJson(listed.measurements.map(present))
  else printTable(listed.measurements.map(present), 'nothing is set aside')
  const more = listed.count - listed.measurements.length
  if (more > 0) printNote(`and ${more} more`)
}

async function retry(choice: SetAsideChoice): Promise<void> {
  const { count } = await withOperations((operations) => operations.retrySetAside(choice))
  printNote(`${counted(count, 'measurement')} queued for the store again`)
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
