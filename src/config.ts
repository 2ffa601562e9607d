// The settings: texts → one frozen Config. All faults are reported at once, and never a secret.

import { integerReader, urlOnNetwork } from './config-values.ts'
import { findStrangers, providersIn } from './config-names.ts'
import { ConfigError, Settings } from './config-settings.ts'
import type { Environment, UnderstoodSetting, Values } from './config-settings.ts'
import { SETTINGS, settingNames } from './config-table.ts'
import { LINK } from './domain/access.ts'

export type InfluxConfig = Values<typeof SETTINGS.influx>

export interface DatabaseConfig extends Values<typeof SETTINGS.database> {
  /** `postgresql://…`, with one or several hosts. */
  readonly url: string
}

export interface IdentityProviderConfig extends Values<typeof SETTINGS.provider> {
  /** `<NAME>` of its settings in lower case: `{idp}` in the API. */
  readonly id: string
}

/** The members of the table, where their rows say what they are; and what is made of others. */
export interface Config
  extends
    Values<typeof SETTINGS.server>,
    Values<typeof SETTINGS.ingest>,
    Values<typeof SETTINGS.people>,
    Values<typeof SETTINGS.watching> {
  /** A listening socket that systemd has handed over, instead of `host` and `port`. */
  readonly listenFd: number | undefined
  /** What starts and watches the service; `undefined`: it does not want to be told of it. */
  readonly serviceManager: { readonly socketFd: number; readonly watchdogMs: number } | undefined
  readonly publicUrl: string
  /** Where clients reach the API: `PUBLIC_URL`, else `/`, which stands for where they got it. */
  readonly apiUrl: string
  /** `undefined`: everything is in `dataDir`, for one process. */
  readonly database: DatabaseConfig | undefined
  /** Never with a database. `undefined`: measurements are where everything else is. */
  readonly influx: InfluxConfig | undefined
  readonly identityProviders: readonly IdentityProviderConfig[]
  /** The apps that open `/app/callback/…` of this service. */
  readonly appLinks: Values<typeof SETTINGS.appLinks>
  readonly links: Readonly<Partial<Record<keyof typeof SETTINGS.links, string>>>
}

/** Of the sockets that systemd hands over. */
const FIRST_LISTEN_FD = 3

/** Settings that are valid but do not fit the existing data; the message says what to do. */
export class UnfitSettings extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnfitSettings'
  }
}

/** The settings as they are understood, for whoever looks whether they are right. */
export interface SettingsReport {
  /** `undefined`: they are not valid. */
  readonly config: Config | undefined
  readonly problems: readonly string[]
  /** Names that resemble our settings, are none, and may belong to another program. */
  readonly warnings: readonly string[]
  readonly understood: readonly UnderstoodSetting[]
}

/** @param sources what each was read from, unless that is the environment itself */
export function examineSettings(environment: Environment, sources?: Environment): SettingsReport {
  const settings = new Settings(environment, sources)
  const config = readConfig(settings)
  const strangers = findStrangers(settings.given(), settingNames())
  const said = (isFault: boolean) => {
    return strangers.filter((name) => name.isFault === isFault).map(({ message }) => message)
  }
  const problems = [...settings.problems, ...said(true)]
  return {
    config: problems.length === 0 ? Object.freeze(config) : undefined,
    problems,
    warnings: said(false),
    understood: settings.understood(),
  }
}

/**
 * @param warn gets the warnings
 * @throws ConfigError with all faults
 */
export function loadConfig(environment: Environment, warn?: (warning: string) => void): Config {
  const { config, problems, warnings } = examineSettings(environment)
  if (config === undefined) throw new ConfigError(problems)
  if (warn !== undefined) warnings.forEach(warn)
  return config
}

/** @returns whether a name is that of a setting, or so like one that it is meant */
export function settingTest(): (name: string) => boolean {
  const names = settingNames()
  return (name) => {
    const isOfProvider = providersIn([name], names).length > 0
    return isOfProvider || names.includes(name) || findStrangers([name], names).length > 0
  }
}

function readConfig(settings: Settings): Config {
  const server = settings.readAll(SETTINGS.server)
  const { host, port, basePath, publicUrl } = server
  const people = settings.readAll(SETTINGS.people)
  return {
    ...server,
    publicUrl: publicUrl ?? urlOnNetwork(host, port) + basePath,
    apiUrl: publicUrl?.replace(/\/$/, '') ?? (basePath || '/'),
    listenFd: readListenFd(settings),
    serviceManager: readServiceManager(settings),
    influx: readInflux(settings),
    database: readDatabase(settings),
    ...settings.readAll(SETTINGS.ingest),
    ...people,
    identityProviders: readProviders(settings, people),
    appLinks: settings.readAll(SETTINGS.appLinks),
    links: readLinks(settings),
    ...settings.readAll(SETTINGS.watching),
  }
}

function readListenFd(settings: Settings): number | undefined {
  // Otherwise they were for a process that started this one.
  if (settings.text('LISTEN_PID') !== String(process.pid)) return undefined
  const count = settings.read(['LISTEN_FDS', integerReader(0, 1_000), '0', ''])
  if (count > 1) {
    settings.problems.push(`LISTEN_FDS is ${count}: give thermolog.socket one ListenStream=`)
  }
  return count === 0 ? undefined : FIRST_LISTEN_FD
}

function readServiceManager(settings: Settings): Config['serviceManager'] {
  // Otherwise it was for a process that started this one, and the number is that of another file.
  if (settings.text('NOTIFY_PID') !== String(process.pid)) return undefined
  // Of that of NOTIFY_SOCKET, which bin/thermolog has opened.
  const socketFd = settings.read(['NOTIFY_FD', integerReader(3, 255), undefined, ''])
  if (socketFd === undefined) return undefined
  const isWatched = (settings.text('WATCHDOG_PID') ?? String(process.pid)) === String(process.pid)
  const readUs = integerReader(0, Number.MAX_SAFE_INTEGER)
  const watchdogUs = settings.read(['WATCHDOG_USEC', readUs, '0', ''])
  return { socketFd, watchdogMs: isWatched ? watchdogUs / 1_000 : 0 }
}

function readInflux(settings: Settings): InfluxConfig | undefined {
  const rows = Object.values(SETTINGS.influx)
  const all = rows.map(([name]) => name)
  const given = rows.filter((row) => settings.has(row)).map(([name]) => name)
  if (given.length === 0) return undefined
  if (settings.has(SETTINGS.database.url)) {
    settings.problems.push(
      `${given.join(', ')} beside DATABASE_URL: measurements are stored in PostgreSQL; ` +
        'InfluxDB can be used only without DATABASE_URL',
    )
    return undefined
  }
  if (given.length === all.length) return settings.readAll(SETTINGS.influx)
  const missing = all.filter((name) => !given.includes(name))
  settings.problems.push(
    `${missing.join(', ')} missing: InfluxDB needs all of ${all.join(', ')}, or none`,
  )
  return undefined
}

function readDatabase(settings: Settings): DatabaseConfig | undefined {
  const { url, durability } = settings.readAll(SETTINGS.database)
  if (settings.has(SETTINGS.database.durability) && !settings.has(SETTINGS.database.url)) {
    settings.problems.push('DURABILITY needs DATABASE_URL: without it the disk of DATA_DIR counts')
  }
  return url === undefined ? undefined : { url, durability }
}

function readProviders(
  settings: Settings,
  { mobileRedirectUris }: Partial<Pick<Config, 'mobileRedirectUris'>>,
): readonly IdentityProviderConfig[] {
  const names = providersIn(settings.given(), settingNames())
  const reserved = LINK.toUpperCase()
  if (names.includes(reserved)) {
    settings.problems.push(
      `IDP_${reserved}_…: no provider can be called ${reserved}; choose another name`,
    )
  }
  if (names.length > 0 && mobileRedirectUris?.length === 0) {
    settings.problems.push('MOBILE_REDIRECT_URIS is required with an identity provider')
  }
  return names.map((name) => {
    return { id: name.toLowerCase(), ...settings.readAll(SETTINGS.provider, name) }
  })
}

function readLinks(settings: Settings): Config['links'] {
  const links = Object.entries(settings.readAll(SETTINGS.links))
  return Object.fromEntries(
    links.flatMap(([name, url]) => (url === undefined ? [] : [[name, url] as const])),
  )
}
