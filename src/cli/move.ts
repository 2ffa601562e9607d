// `thermolog move`: moves a DATA_DIR into a database, which any number of processes can work on, or
// its measurements into InfluxDB.

import { required } from '../commands/command.ts'
import { FormError, readDatabaseUrl } from '../config-values.ts'
import { DataDirInUse } from '../domain/errors.ts'
import { counted } from '../domain/grouped.ts'
import { failed, usage } from '../operations/failure.ts'
import { localCommand } from './local-command.ts'
import { readSettingsOfDataDir, readSettingsOfFiles } from './read-settings.ts'
import { StepProgress } from './terminal/progress.ts'
import type { Terminal } from './terminal/terminal.ts'

const INFLUX = 'influx'

/** Where a database has the data. */
const INSTEAD = 'InfluxDB can be used only without DATABASE_URL.'

export const commands = [
  localCommand({
    path: 'move',
    help: 'move a stopped DATA_DIR into PostgreSQL, or its measurements into InfluxDB',
    details:
      'If it is interrupted, run it again: it begins anew. At the end it compares both sides;\n' +
      'only then DATA_DIR is closed, and the database can be used; or DATA_DIR uses InfluxDB.',
    example: 'thermolog move --to postgresql://thermolog@db/thermolog',
    arguments: {
      to: required(
        '--to <target>',
        'an empty database, as in DATABASE_URL; or influx, the InfluxDB of INFLUX_*',
        readTarget,
      ),
    },
    run: move,
    present: (lines) => ({ lines }),
  }),
] as const

async function move(
  terminal: Terminal,
  { to }: { readonly to: string },
): Promise<readonly string[]> {
  const progress = new StepProgress(terminal)
  try {
    return await (to === INFLUX
      ? intoInflux(terminal, progress)
      : intoDatabase(terminal, to, progress))
  } catch (error) {
    if (!(error instanceof DataDirInUse && error.isPassing)) throw error
    throw failed(error.message, 'Stop the service until the move is over.')
  } finally {
    progress.end()
  }
}

async function intoDatabase(
  terminal: Terminal,
  url: string,
  progress: StepProgress,
): Promise<readonly string[]> {
  const config = await readSettingsOfDataDir(terminal)
  const { moveToDatabase } = await import('../data-dir/move-to-database.ts')
  const durability = config.database?.durability ?? 'local'
  const { database, rows } = await moveToDatabase(config, { url, durability }, progress)
  const closed = `the data are in ${database} now: set DATABASE_URL to it; DATA_DIR is closed`
  const { measurements, ledger = 0, sensors = 0, users = 0 } = rows
  if (measurements === undefined) return [closed]
  const owners = `${counted(users, 'user')}, ${counted(sensors, 'sensor')}`
  const events = `${counted(measurements, 'measurement')} and ${counted(ledger, 'event id')}`
  return [`moved ${owners}, ${events}; both sides have been compared`, closed]
}

async function intoInflux(terminal: Terminal, progress: StepProgress): Promise<readonly string[]> {
  const config = await readSettingsOfFiles(() => readSettingsOfDataDir(terminal), INSTEAD)
  const { moveToInflux } = await import('../data-dir/move-to-influx.ts')
  const { measurements, storeName } = await moveToInflux(config, progress)
  if (measurements === undefined) return [`DATA_DIR already uses ${storeName}: nothing to move`]
  return [
    `moved ${counted(measurements, 'measurement')}; both sides have been compared`,
    `DATA_DIR uses ${storeName} from now on; measurements.db is unchanged`,
  ]
}

function readTarget(text: string): string {
  if (text === INFLUX) return text
  try {
    return readDatabaseUrl(text)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    // It may have a password.
    throw usage(`--to ${error.message}`, `To move measurements into InfluxDB: --to ${INFLUX}`)
  }
}
