// Commands of root where the service is installed: they have its settings and act as its user, so
// that no file in DATA_DIR ever belongs to root.

import { lastOf, ownServiceUnit, readServiceEnvironment } from '../system/service-unit.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface ServiceAccount {
  readonly user: string
  readonly group: string
  readonly environment: Environment
}

/**
 * Reads what the service gets that the installed unit starts, if that is this program.
 *
 * @param given what root has said counts more than what the unit says
 * @returns `undefined`: there is no such service, or it runs as root
 * @throws Error if the settings cannot be read
 */
export function readServiceAccount(given: Environment): ServiceAccount | undefined {
  const unit = ownServiceUnit()
  const user = unit && lastOf(unit, 'User')
  if (unit === undefined || user === undefined || user === 'root') return undefined
  const environment = { ...readServiceEnvironment(unit), ...given, SETTINGS_OF: unit.path }
  return { user, group: lastOf(unit, 'Group') ?? user, environment }
}
