// The settings: texts → one frozen Config. All faults are reported at once, and never a secret.

import {
  FormError,
  choiceReader,
  integerReader,
  readAndroidApps,
  readAnyUrl,
  readAppleApps,
  readBoolean,
  readDatabaseUrl,
  readDuration,
  readFreeSpace,
  readHttpUrl,
  readList,
  readMoment,
  readNetworks,
  readBasePath,
  readPublicUrl,
  readSecureUrl,
  readSize,
  urlOnNetwork,
} from './config-values.ts'
import { ConfigError, Settings } from './config-settings.ts'
import type { Environment, UnderstoodSetting } from './config-settings.ts'
import type { AppLinks } from './domain/app-links.ts'
import { LINK } from './domain/access.ts'
import type { FreeSpaceRule } from './domain/free-space.ts'

export interface InfluxConfig {
  readonly url: string
  readonly organization: string
  readonly influxBucket: string
  readonly influxToken: string
}

export interface DatabaseConfig {
  /** `postgresql://…`, with one or several hosts. */
  readonly url: string
  readonly durability: (typeof DURABILITIES)[number]
}

export interface IdentityProviderConfig {
  /** `<NAME>` of its settings in lower case: `{idp}` in the API. */
  readonly id: string
  readonly issuer: string
  readonly clientId: string
  /** `undefined`: a public client. */
  readonly clientSecret: string | undefined
  readonly label: string
  readonly scopes: readonly string[]
  readonly callbackUrl: string | undefined
}

export interface Config {
  readonly host: string
  readonly port: number
  /** A listening socket that systemd has handed over, instead of `host` and `port`. */
  readonly listenFd: number | undefined
  /** What starts and watches the service; `undefined`: it does not want to be told of it. */
  readonly serviceManager: { readonly socketFd: number; readonly watchdogMs: number } | undefined
  /** Where people reach the service. */
  readonly publicUrl: string
  /** The prefix of every path that the service sees; `''`: none. */
  readonly basePath: string
  /** Where clients reach the API: `PUBLIC_URL`, else `/`, which stands for where they got it. */
  readonly apiUrl: string
  readonly dataDir: string
  /** `undefined`: everything is in `dataDir`, for one process. */
  readonly database: DatabaseConfig | undefined
  /** Never with a database. `undefined`: measurements are where everything else is. */
  readonly influx: InfluxConfig | undefined
  readonly mayRegisterSensors: boolean
  readonly sensorsPerUserMax: number
  readonly futureMsMax: number
  readonly measuredAtMsMin: number
  readonly offlineAfterMs: number
  /** Fields of line protocol that are temperatures, besides the known ones. */
  readonly lineFields: readonly string[]
  /** Tags of line protocol that are serial numbers, besides the known ones. */
  readonly lineSerialTags: readonly string[]
  /** Per token and minute; 0: no limit. */
  readonly requestsPerMinute: number
  /** Per token and minute; 0: no limit. */
  readonly measurementsPerMinute: number
  /** Per address and minute; 0: no limit. */
  readonly signInsPerMinute: number
  readonly trustedProxies: readonly string[]
  readonly connectionsMax: number
  readonly journalBytesMax: number
  readonly freeDiskMin: FreeSpaceRule
  readonly identityProviders: readonly IdentityProviderConfig[]
  readonly mobileRedirectUris: readonly string[]
  readonly mobileCallbackUrl: string | undefined
  /** Anyone, nobody, or people with addresses in one of these e-mail domains. */
  readonly allowSignUp: boolean | readonly string[]
  readonly mobileTokenIdleMs: number
  readonly mobileTokenLifetimeMs: number
  /** Whether mobile tokens may change alias and compensation. */
  readonly mayEditOnPhones: boolean
  /** Whether people make daemon tokens for themselves. */
  readonly mayMakeTokens: boolean
  /** Whether people who signed up may delete their account. */
  readonly mayDeleteAccounts: boolean
  readonly appName: string
  /** Of the app; `undefined`: any version. */
  readonly appMinimumVersion: string | undefined
  /** The apps that open `/app/callback/…` of this service. */
  readonly appLinks: AppLinks
  readonly links: Readonly<Partial<Record<'website' | 'privacy' | 'terms' | 'support', string>>>
  readonly metricsToken: string | undefined
  readonly logLevel: (typeof LOG_LEVELS)[number]
}

const DURABILITIES = ['local', 'replicated'] as const
const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
const INFLUX_KEYS = ['INFLUX_URL', 'INFLUX_ORG', 'INFLUX_BUCKET', 'INFLUX_TOKEN'] as const
const PROVIDER_KEYS = [
  'ISSUER',
  'CLIENT_ID',
  'CLIENT_SECRET',
  'LABEL',
  'SCOPES',
  'CALLBACK_URL',
] as const
const RATE_MAX = 1_000_000_000
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
  const names = settings.judgeNames(PROVIDER_KEYS)
  const problems = [...settings.problems, ...names.problems]
  return {
    config: problems.length === 0 ? Object.freeze(config) : undefined,
    problems,
    warnings: names.warnings,
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
  const settings = new Settings({})
  readConfig(settings)
  return (name) => settings.isMeant(name, PROVIDER_KEYS)
}

function readConfig(settings: Settings): Config {
  return {
    ...readServer(settings),
    ...readIngest(settings),
    ...readSignIn(settings),
    ...readStores(settings),
    metricsToken: settings.read('METRICS_TOKEN', String),
    logLevel: settings.read('LOG_LEVEL', choiceReader(LOG_LEVELS), 'info'),
  }
}

function readServer(settings: Settings) {
  const host = settings.read('HOST', String, '127.0.0.1')
  const port = settings.read('PORT', integerReader(0, 65_535), '8080')
  const basePath = settings.read('BASE_PATH', readBasePath, '')
  const publicUrl = settings.read('PUBLIC_URL', readPublicUrl)
  return {
    host,
    port,
    listenFd: readListenFd(settings),
    serviceManager: readServiceManager(settings),
    basePath,
    publicUrl: publicUrl ?? urlOnNetwork(host, port) + basePath,
    apiUrl: publicUrl?.replace(/\/$/, '') ?? (basePath || '/'),
    dataDir: settings.read('DATA_DIR', String, './data'),
    requestsPerMinute: settings.read('RATE_LIMIT_REQUESTS', integerReader(0, RATE_MAX), '6000'),
    measurementsPerMinute: settings.read(
      'RATE_LIMIT_MEASUREMENTS',
      integerReader(0, RATE_MAX),
      '600000',
    ),
    signInsPerMinute: settings.read('RATE_LIMIT_SIGN_IN', integerReader(0, RATE_MAX), '60'),
    trustedProxies: settings.read('TRUST_PROXY', readNetworks, ''),
    connectionsMax: settings.read('MAX_CONNECTIONS', integerReader(1, 1_000_000), '8192'),
  }
}

function readListenFd(settings: Settings): number | undefined {
  // Otherwise they were for a process that started this one.
  if (settings.text('LISTEN_PID') !== String(process.pid)) return undefined
  const count = settings.read('LISTEN_FDS', integerReader(0, 1_000), '0')
  if (count > 1) {
    settings.problems.push(`LISTEN_FDS is ${count}: give thermolog.socket one ListenStream=`)
  }
  return count === 0 ? undefined : FIRST_LISTEN_FD
}

function readServiceManager(settings: Settings): Config['serviceManager'] {
  // Otherwise it was for a process that started this one, and the number is that of another file.
  if (settings.text('NOTIFY_PID') !== String(process.pid)) return undefined
  // Of that of NOTIFY_SOCKET, which bin/thermolog has opened.
  const socketFd = settings.read('NOTIFY_FD', integerReader(3, 255))
  if (socketFd === undefined) return undefined
  const watched = settings.text('WATCHDOG_PID') ?? String(process.pid)
  const watchdogUs = settings.read('WATCHDOG_USEC', integerReader(0, Number.MAX_SAFE_INTEGER), '0')
  const watchdogMs = watched === String(process.pid) ? watchdogUs / 1_000 : 0
  return { socketFd, watchdogMs }
}

function readIngest(settings: Settings) {
  return {
    mayRegisterSensors: settings.read('AUTO_REGISTER', readBoolean, 'true'),
    sensorsPerUserMax: settings.read('MAX_SENSORS_PER_USER', integerReader(1, 10_000_000), '10000'),
    futureMsMax: settings.read('MAX_FUTURE', readDuration, '5m'),
    measuredAtMsMin: settings.read('MIN_TIMESTAMP', readMoment, '2010-01-01T00:00:00Z'),
    offlineAfterMs: settings.read('OFFLINE_AFTER', readDuration, '15m'),
    lineFields: settings.read('LINE_FIELDS', readList, ''),
    lineSerialTags: settings.read('LINE_SERIAL_TAGS', readList, ''),
    journalBytesMax: settings.read('MAX_JOURNAL_SIZE', readSize, '4GiB'),
    freeDiskMin: settings.read('MIN_FREE_DISK', readFreeSpace, '2%, 256MiB'),
  }
}

function readSignIn(settings: Settings) {
  const identityProviders = settings
    .providerNames(PROVIDER_KEYS)
    .map((name) => readIdentityProvider(settings, name))
  const redirectUris = settings.read('MOBILE_REDIRECT_URIS', readUrls, '')
  if (identityProviders.length > 0 && redirectUris.length === 0) {
    settings.problems.push('MOBILE_REDIRECT_URIS is required with an identity provider')
  }
  const allowSignUp = settings.read('ALLOW_SIGN_UP', readSignUp, 'false')
  return {
    identityProviders,
    mobileRedirectUris: redirectUris,
    mobileCallbackUrl: settings.read('MOBILE_CALLBACK_URL', readAnyUrl, redirectUris[0]),
    allowSignUp,
    mobileTokenIdleMs: settings.read('MOBILE_TOKEN_IDLE', readDuration, '90d'),
    mobileTokenLifetimeMs: settings.read('MOBILE_TOKEN_LIFETIME', readDuration, '365d'),
    mayEditOnPhones: settings.read('MOBILE_EDITS', readBoolean, 'true'),
    mayMakeTokens: settings.read('MOBILE_TOKENS', readBoolean, String(allowSignUp === false)),
    mayDeleteAccounts: settings.read('ALLOW_ACCOUNT_DELETION', readBoolean, 'false'),
    appName: settings.read('APP_NAME', String, 'Thermolog'),
    appMinimumVersion: settings.read('APP_MINIMUM_VERSION', String),
    appLinks: {
      android: settings.read('APP_LINKS_ANDROID', readAndroidApps, ''),
      apple: settings.read('APP_LINKS_APPLE', readAppleApps, ''),
    },
    links: readLinks(settings),
  }
}

function readIdentityProvider(settings: Settings, name: string): IdentityProviderConfig {
  const key = (part: (typeof PROVIDER_KEYS)[number]) => `IDP_${name}_${part}`
  if (name === LINK.toUpperCase()) {
    settings.problems.push(`IDP_${name}_…: no provider can be called ${name}; choose another name`)
  }
  return {
    id: name.toLowerCase(),
    issuer: settings.need(key('ISSUER'), readSecureUrl),
    clientId: settings.need(key('CLIENT_ID'), String),
    clientSecret: settings.read(key('CLIENT_SECRET'), String),
    label: settings.read(key('LABEL'), String, name),
    scopes: settings.read(key('SCOPES'), readScopes, 'openid email profile'),
    callbackUrl: settings.read(key('CALLBACK_URL'), readHttpUrl),
  }
}

function readLinks(settings: Settings): Config['links'] {
  const links: Partial<Record<'website' | 'privacy' | 'terms' | 'support', string>> = {}
  for (const name of ['website', 'privacy', 'terms', 'support'] as const) {
    const url = settings.read(`LINK_${name.toUpperCase()}`, readHttpUrl)
    if (url !== undefined) links[name] = url
  }
  return links
}

function readStores(settings: Settings): Pick<Config, 'database' | 'influx'> {
  const url = settings.read('DATABASE_URL', readDatabaseUrl)
  const durability = settings.read('DURABILITY', choiceReader(DURABILITIES), 'local')
  const hasDatabase = settings.text('DATABASE_URL') !== undefined
  if (!hasDatabase && settings.text('DURABILITY') !== undefined) {
    settings.problems.push('DURABILITY needs DATABASE_URL: without it the disk of DATA_DIR counts')
  }
  const influx = readInflux(settings, hasDatabase)
  return { database: url === undefined ? undefined : { url, durability }, influx }
}

function readInflux(settings: Settings, hasDatabase: boolean): InfluxConfig | undefined {
  const missing = INFLUX_KEYS.filter((key) => settings.text(key) === undefined)
  if (missing.length === INFLUX_KEYS.length) return undefined
  if (hasDatabase) {
    const given = INFLUX_KEYS.filter((key) => !missing.includes(key))
    settings.problems.push(
      `${given.join(', ')} beside DATABASE_URL: measurements are stored in PostgreSQL; ` +
        'InfluxDB can be used only without DATABASE_URL',
    )
    return undefined
  }
  if (missing.length > 0) {
    settings.problems.push(
      `${missing.join(', ')} missing: InfluxDB needs all of ${INFLUX_KEYS.join(', ')}, or none`,
    )
    return undefined
  }
  return {
    url: settings.need('INFLUX_URL', readHttpUrl),
    organization: settings.need('INFLUX_ORG', String),
    influxBucket: settings.need('INFLUX_BUCKET', String),
    influxToken: settings.need('INFLUX_TOKEN', String),
  }
}

function readUrls(text: string): readonly string[] {
  return readList(text).map(readAnyUrl)
}

function readScopes(text: string): readonly string[] {
  const scopes = text.split(/[\s,]+/).filter((scope) => scope !== '')
  if (scopes.includes('openid')) return scopes
  throw new FormError('must have the scope openid')
}

function readSignUp(text: string): boolean | readonly string[] {
  if (text === 'true' || text === 'false') return text === 'true'
  const domains = readList(text).map((domain) => domain.toLowerCase())
  if (domains.length > 0 && domains.every((domain) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain))) {
    return domains
  }
  throw new FormError('must be true, false or e-mail domains like example.org, example.com')
}
