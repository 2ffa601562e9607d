// `thermolog doctor`: checks everything that the service depends on, changes nothing, and lists
// faults first. Other servers are asked at the same time and have five seconds to answer.

import type { Config } from '../config.ts'
import type { Environment } from '../config-settings.ts'
import { hasData } from '../system/data-dir.ts'
import { connectOperations } from '../socket/client.ts'
import { operationsSocketPath } from '../socket/path.ts'
import { checkAddress, checkProxy } from './address-checks.ts'
import { checkBackup } from './backup-check.ts'
import { Check } from './check.ts'
import type { CheckResult, CheckState } from './check.ts'
import { checkClock } from './clock-check.ts'
import { checkData } from './data-check.ts'
import { checkDataDir } from './data-dir-checks.ts'
import { checkMemory } from './memory-check.ts'
import { checkDatabase, checkInflux, checkProvider } from './server-checks.ts'

const SEVERITIES: readonly CheckState[] = ['wrong', 'warning', 'ok']

const settingsCheck = new Check('settings')

/** Checks the settings alone; the rest is checked only if none of them is wrong. */
export function checkSettings(
  problems: readonly string[],
  warnings: readonly string[],
): readonly CheckResult[] {
  const remedy = 'set it as docs/operations.md says, and restart the service'
  if (problems.length + warnings.length === 0) return [settingsCheck.ok('the settings are valid')]
  return [
    ...problems.map((problem) => settingsCheck.wrong(problem, remedy)),
    ...warnings.map((warning) => settingsCheck.warning(warning, remedy)),
  ]
}

/**
 * All checks, in the order in which they depend on each other.
 *
 * @param unit the environment from the service's units; `undefined`: there are none
 */
export async function examine(
  config: Config,
  unit: Environment | undefined,
): Promise<readonly CheckResult[]> {
  const { database, influx, identityProviders } = config
  const ofFiles = database === undefined ? await checkDataDir(config) : []
  // Report only once that DATA_DIR is unusable.
  const isUsable = database === undefined && !ofFiles.some(isOfUnfitFolder)
  const servers = await Promise.all([
    ...(database === undefined ? [] : [checkDatabase(database)]),
    ...(influx === undefined ? [] : [checkInflux(influx)]),
    ...identityProviders.map(checkProvider),
  ])
  const others = servers.flatMap(({ clock }) => clock ?? [])
  const dataDir = database === undefined ? config.dataDir : undefined
  const address = await checkAddress(config, unit, isUsable ? await isServed(config) : undefined)
  const isAnswering = address.some(({ check, state }) => check === 'service' && state === 'ok')
  return [
    await checkClock(dataDir, others),
    ...ofFiles,
    ...(isUsable && (await hasData(config.dataDir)) ? await checkFiles(config, unit) : []),
    ...servers.flatMap(({ results }) => results),
    ...(await checkProxy(config, isAnswering)),
    ...address,
  ]
}

/** Faults come first. */
export function bySeverity(results: readonly CheckResult[]): readonly CheckResult[] {
  return SEVERITIES.flatMap((severity) => results.filter(({ state }) => state === severity))
}

function isOfUnfitFolder({ check, state }: CheckResult): boolean {
  return check === 'data_dir' && state === 'wrong'
}

async function checkFiles(
  config: Config,
  unit: Environment | undefined,
): Promise<readonly CheckResult[]> {
  const data = await checkData(config)
  const isWhole = data.every(({ state }) => state !== 'wrong')
  const memory = isWhole ? [checkMemory(config.dataDir, unit)] : []
  return [...memory, ...data, await checkBackup(config.dataDir)]
}

/** Whether a service uses DATA_DIR; `undefined`: it does not answer, or has no socket. */
async function isServed({ dataDir }: Config): Promise<boolean | undefined> {
  try {
    const service = await connectOperations(operationsSocketPath(dataDir))
    await service?.close()
    return service !== undefined
  } catch {
    return undefined
  }
}
