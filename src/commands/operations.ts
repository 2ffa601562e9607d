// What an operator can have a service do: the commands of the table, and what an import needs
// besides. A running service does it for whoever opens the socket in its DATA_DIR; where none
// runs, a command does it itself. So arguments, results and failures are plain JSON.

import type { TimeRange } from '../domain/time.ts'
import { importRules } from '../operations/check-measurement.ts'
import { failed } from '../operations/failure.ts'
import type {
  ImportOrder,
  ImportReceipt,
  ImportRules,
  SensorsOfUser,
} from '../operations/import-order.ts'
import { importMeasurements } from '../operations/import-measurements.ts'
import { listMeasuredPeriods } from '../operations/measured-periods.ts'
import { readEmail } from './arguments.ts'
import { commands as ofClock } from './clock.ts'
import { readGiven } from './command.ts'
import type { Command, Given } from './command.ts'
import { findOwner, findUser } from './context.ts'
import type { Collaborators, CommandSettings, Context } from './context.ts'
import { commands as ofRefused } from './refused.ts'
import { commands as ofSensors } from './sensors.ts'
import { commands as ofSetAside } from './set-aside.ts'
import { commands as ofTokens } from './tokens.ts'
import { commands as ofUsers } from './users.ts'

const COMMANDS = [...ofUsers, ...ofTokens, ...ofSensors, ...ofSetAside, ...ofRefused, ...ofClock]

type OperatorCommand = (typeof COMMANDS)[number]
export type CommandPath = OperatorCommand['path']
type CommandAt<Path> = Extract<OperatorCommand, { readonly path: Path }>
export type GivenOf<Path extends CommandPath> = Given<CommandAt<Path>['arguments']>
export type ResultOf<Path extends CommandPath> = Awaited<ReturnType<CommandAt<Path>['run']>>

/** Each throws OperationError, and ServiceError where a port does. */
export interface Operations {
  /** Carries out a command as it was typed. */
  run<Path extends CommandPath>(path: Path, given: GivenOf<Path>): Promise<ResultOf<Path>>
  /** What a command would delete for ever if it was carried out now; `null` for nothing. */
  preview<Path extends CommandPath>(path: Path, given: GivenOf<Path>): Promise<string | null>
  /** @param user an e-mail address */
  importRules(user: string): Promise<ImportRules>
  /**
   * When each of up to `importMeasurementsMax` sensors has measurements: periods of whole UTC days,
   * ascending, at most `measuredPeriodsMax`, which may cover days without any. None for a sensor
   * that the user does not have.
   */
  listMeasuredPeriods(args: SensorsOfUser): Promise<readonly (readonly TimeRange[])[]>
  /**
   * Stores up to `importMeasurementsMax` measurements, in order. Resolves when they are on disk. On
   * an error, some may be stored: sending them again with the same event ids stores nothing twice.
   * Nothing is stored where equal ones have to be counted that cannot be read yet.
   */
  importMeasurements(args: ImportOrder): Promise<ImportReceipt>
}

export function createOperations(
  collaborators: Collaborators,
  settings: CommandSettings & { readonly futureMsMax: number },
): Operations {
  const context: Context = { ...collaborators, settings }
  const { control, clock } = collaborators
  const run = async (path: string, given: Given): Promise<unknown> => {
    const row = rowAt(path)
    return row.run(context, readGiven(row, Object(given) as Given))
  }
  return {
    // Which result belongs to which path, the table says.
    run: run as Operations['run'],
    preview: async (path, given) => {
      const row = rowAt(path)
      if (row.deletes === undefined) throw failed(`${path} deletes nothing`)
      return (await row.deletes(context, readGiven(row, Object(given) as Given))) ?? null
    },
    importRules: async (user) => {
      const { id } = await findOwner(context, readEmail(user))
      return importRules(await control.listSensors(id), clock.nowMs(), settings)
    },
    listMeasuredPeriods: async ({ user, serialNumbers }) => {
      const { id } = await findUser(context, readEmail(user))
      return listMeasuredPeriods(control, id, serialNumbers)
    },
    importMeasurements: async ({ user, ...order }) => {
      const { id } = await findUser(context, readEmail(user))
      return importMeasurements(collaborators, id, order)
    },
  }
}

function rowAt(path: string): Command<Context> {
  const row = COMMANDS.find((each) => each.path === path)
  if (row === undefined) throw failed(`no command ${JSON.stringify(path)}`)
  return row
}
