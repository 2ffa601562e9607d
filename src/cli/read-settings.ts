// The settings of a command, with a DATA_DIR that can be used as far as a look from outside can
// tell: nothing is asked of it, and nothing made in it, before that.

import { resolve } from 'node:path'
import { loadConfig, readEnvironment, settingWarnings } from '../config.ts'
import type { Config } from '../config.ts'
import { usage } from '../operations/check-arguments.ts'
import { hasData, refuseUnfitDataDir } from '../system/data-dir.ts'

/** @throws ConfigError @throws UnfitDataDir */
export async function readSettings(): Promise<Config> {
  const environment = readEnvironment()
  const config = loadConfig(environment)
  for (const warning of settingWarnings(environment)) {
    process.stderr.write(`thermolog: warning: ${warning}\n`)
  }
  await refuseUnfitDataDir(config.dataDir)
  return config
}

/**
 * For commands that work on what is there: they make nothing where there is nothing.
 *
 * @throws OperationError when DATA_DIR has no data
 */
export async function readSettingsWithData(): Promise<Config> {
  const config = await readSettings()
  if (await hasData(config.dataDir)) return config
  throw usage(
    `DATA_DIR ${resolve(config.dataDir)} has no data`,
    'Set DATA_DIR to the folder the service uses. ' +
      '`thermolog serve` and `thermolog user create` start a new one.',
  )
}
