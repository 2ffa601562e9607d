// The settings of a command. Checks from outside whether DATA_DIR can be used, without opening or
// creating anything in it.

import { resolve } from 'node:path'
import { readEnvironment, readSources } from '../config-environment.ts'
import { ConfigError } from '../config-settings.ts'
import { examineSettings, loadConfig } from '../config.ts'
import type { Config, SettingsReport } from '../config.ts'
import { usage } from '../operations/failure.ts'
import { hasData, refuseUnfitDataDir } from '../system/data-dir.ts'
import { ownServiceUnit, setsDataDir } from '../system/service-unit.ts'
import type { Terminal } from './terminal/terminal.ts'

/** @throws ConfigError @throws UnfitDataDir */
export async function readSettings(terminal: Terminal): Promise<Config> {
  const environment = readEnvironment(terminal.io)
  const config = loadConfig(environment, (warning) => {
    terminal.say(`warning: ${warning}`, 'warn')
  })
  if (config.database !== undefined) return config
  if ((environment['DATA_DIR'] ?? '') === '') refuseWhereServiceHasAnother()
  await refuseUnfitDataDir(config.dataDir)
  return config
}

/** What is right and wrong with the settings; nothing is opened. */
export function reportOnSettings({ io }: Terminal): SettingsReport {
  try {
    const environment = readEnvironment(io)
    const { DATA_DIR = '', DATABASE_URL = '', DATABASE_URL_FILE = '' } = environment
    if (DATA_DIR + DATABASE_URL + DATABASE_URL_FILE === '') refuseWhereServiceHasAnother()
    return examineSettings(environment, readSources(io))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { config: undefined, problems: error.problems, warnings: [], understood: [] }
  }
}

/** As root it would be that of the service; as anybody else, new data wherever one stands. */
function refuseWhereServiceHasAnother(): void {
  const unit = ownServiceUnit()
  if (unit === undefined || !setsDataDir(unit)) return
  throw usage(
    `DATA_DIR is not set, and that of the service is in ${unit.path}`,
    'As root the command works on the service: `sudo thermolog …`. ' +
      'For other data, set DATA_DIR.',
  )
}

/** For commands that may start a new DATA_DIR: a person who stands elsewhere sees where it is. */
export async function readSettingsOfFirst(terminal: Terminal): Promise<Config> {
  const config = await readSettings(terminal)
  const isNew = config.database === undefined && !(await hasData(config.dataDir))
  if (isNew && terminal.isWatched) terminal.note(`Data are kept in ${resolve(config.dataDir)}`)
  return config
}

/**
 * For commands that need existing data: they create nothing.
 *
 * @throws OperationError if DATA_DIR has no data
 */
export async function readSettingsWithData(terminal: Terminal): Promise<Config> {
  const config = await readSettings(terminal)
  if (config.database === undefined) await refuseNoData(config)
  return config
}

/**
 * For commands that work on an existing DATA_DIR, also where DATABASE_URL is set already.
 *
 * @throws OperationError if DATA_DIR has no data
 */
export async function readSettingsOfDataDir(terminal: Terminal): Promise<Config> {
  const config = await readSettings(terminal)
  await refuseNoData(config)
  return config
}

async function refuseNoData(config: Config): Promise<void> {
  if (await hasData(config.dataDir)) return
  throw usage(
    `DATA_DIR ${resolve(config.dataDir)} has no data`,
    'Set DATA_DIR to the folder the service uses. ' +
      '`thermolog serve` and `thermolog user create` start a new one.',
  )
}

/**
 * For commands that work on the files of a DATA_DIR.
 *
 * @param instead what to do where a database has the data
 * @throws OperationError if a database has them
 */
export async function readSettingsOfFiles(
  read: () => Promise<Config>,
  instead: string,
): Promise<Config> {
  const config = await read()
  if (config.database === undefined) return config
  throw usage('DATABASE_URL is set, and this command works on a DATA_DIR', instead)
}
