// Commands of root where the service is installed: they have its settings and act as its user, so
// that no file in DATA_DIR ever belongs to root.

import { settingTest } from '../config.ts'
import { readAccount } from './account.ts'
import type { Account } from './account.ts'
import { isOn, readServiceEnvironment } from '../system/service-environment.ts'
import {
  activatedAddress,
  lastOf,
  ownServiceUnit,
  refuseForeignUnit,
} from '../system/service-unit.ts'
import type { ServiceUnit } from '../system/service-unit.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** What Node and the client of PostgreSQL read: certificates, proxies, `PGPASSWORD`. */
const OF_NETWORK =
  /^(NODE_EXTRA_CA_CERTS|NODE_USE_(SYSTEM_CA|ENV_PROXY)|(HTTPS?|NO)_PROXY|PG[A-Z]+)$/i
const OF_PERSON = /^(PATH|LANG|LC_[A-Z]+|TZ|TERM|COLUMNS|NO_COLOR|TMPDIR|JOURNAL_STREAM)$/

export interface ServiceAccount extends Account {
  readonly environment: Environment
}

/**
 * Reads what the service gets that the installed unit starts, if that is this program.
 *
 * @param given what root has said counts more than what the unit says; of the rest of it, the
 *   service's user is to see nothing
 * @returns `undefined`: there is no such service, or it runs as root
 * @throws Error if the settings cannot be read, or are those of another program
 */
export function readServiceAccount(given: Environment): ServiceAccount | undefined {
  const isGiven = (name: string) => (given[name] ?? '') !== ''
  if (!isGiven('DATA_DIR') && !isGiven('DATABASE_URL')) refuseForeignUnit()
  const unit = ownServiceUnit()
  if (unit === undefined) return undefined
  const user = lastOf(unit, 'User')
  const isDynamic = isOn(lastOf(unit, 'DynamicUser'))
  const account =
    user === undefined || isDynamic ? undefined : readAccount(user, lastOf(unit, 'Group'))
  if (!isDynamic && (account === undefined || account.uid === 0)) return undefined
  const isSetting = settingTest()
  const isWanted = (name: string) => isSetting(name) || OF_NETWORK.test(name)
  const settings = readServiceEnvironment(unit, (name) => isWanted(name) && !isGiven(name))
  if (account === undefined) return undefined
  const own = Object.entries(given).filter(([name]) => isWanted(name) || OF_PERSON.test(name))
  const inUnit = Object.entries(settings)
  const ofUnit = Object.fromEntries(inUnit.map(([name, { value }]) => [name, value]))
  const from = inUnit.map(([name, { file }]) => `${name}=${file}`).join('\n')
  const { name, home } = account
  // A cache that this user has written may have anything in it.
  const person = { HOME: home, USER: name, LOGNAME: name, NODE_DISABLE_COMPILE_CACHE: '1' }
  const handedOn = { SETTINGS_FROM: from, SERVICE_UNITS: besidesSettings(unit) }
  const environment = { ...ofUnit, ...Object.fromEntries(own), ...handedOn, ...person }
  return { ...account, environment }
}

/** What `thermolog doctor` looks at; a file of it may be closed to the service's user. */
function besidesSettings(unit: ServiceUnit): string {
  const ofService = ['MemoryHigh', 'MemoryMax'].map((key) => ({ key, value: lastOf(unit, key) }))
  return [...ofService, { key: 'ListenStream', value: activatedAddress() }]
    .flatMap(({ key, value }) => (value === undefined ? [] : `${key}=${value}`))
    .join('\n')
}
