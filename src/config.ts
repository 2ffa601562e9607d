// The settings: environment and `.env` file → one frozen Config. Only this file reads the
// environment. It reports all faults at once, and never a secret.

import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import {
  FormError,
  choiceReader,
  integerReader,
  readAnyUrl,
  readBoolean,
  readDatabaseUrl,
  readDuration,
  readFreeSpace,
  readHttpUrl,
  readList,
  readMoment,
  readNetworks,
  readPublicUrl,
  readSecureUrl,
  readSize,
  urlOnNetwork,
} from './config-values.ts'
import { judgeNames } from './config-names.ts'
import type { NameFaults } from './config-names.ts'
import type { FreeSpaceRule } from './config-values.ts'
import { LINK } from './domain/access.ts'
import { DAY_MS, MINUTE_MS } from './domain/time.ts'

export type Environment = Readonly<Record<string, string | undefined>>

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
  /** Where people reach the service. */
  readonly publicUrl: string
  /** Where clients reach the API: `PUBLIC_URL`, else `/`, which stands for where they got it. */
  readonly apiUrl: string
  readonly dataDir: string
  /** `undefined`: everything is in `dataDir`, for one process. */
  readonly database: DatabaseConfig | undefined
  /** `undefined`: measurements are where everything else is. */
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
  readonly appName: string
  /** Of the app; `undefined`: any version. */
  readonly appMinimumVersion: string | undefined
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
const DEFAULT_FREE_DISK: FreeSpaceRule = { volumePercent: 2, bytes: 256 * 2 ** 20 }

/** Invalid settings; the message lists every one of them. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`The settings are not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** Settings that are valid but do not fit the existing data; the message says what to do. */
export class UnfitSettings extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnfitSettings'
  }
}

/** The environment of the process, over the `.env` file in its working directory. */
export function readEnvironment(): Environment {
  return { ...readEnvFile('.env'), ...process.env }
}

function readEnvFile(file: string): Environment {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || (code === 'EACCES' && !isOurs(file))) return {}
    throw new ConfigError([
      `${resolve(file)} cannot be read (${code}): make it readable or move it`,
    ])
  }
}

/**
 * Whether the file belongs to the user of this process. A command run as another user (`sudo -u
 * thermolog …`) starts in the folder of the person who typed it.
 */
function isOurs(file: string): boolean {
  try {
    return statSync(file).uid === process.getuid?.()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return false
    throw error
  }
}

/** @throws ConfigError with all faults */
export function loadConfig(environment: Environment): Config {
  const settings = new Settings(environment)
  const config = readConfig(settings)
  const problems = [...settings.problems, ...settings.judgeNames().problems]
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze(config)
}

/** A name that resembles our settings, is none, and may belong to another program. */
export function settingWarnings(environment: Environment): readonly string[] {
  const settings = new Settings(environment)
  readConfig(settings)
  return settings.judgeNames().warnings
}

function readConfig(settings: Settings): Config {
  return {
    ...readServer(settings),
    ...readIngest(settings),
    ...readSignIn(settings),
    ...readStores(settings),
    metricsToken: settings.read('METRICS_TOKEN', String, undefined),
    logLevel: settings.read('LOG_LEVEL', choiceReader(LOG_LEVELS), 'info'),
  }
}

function readServer(settings: Settings) {
  const host = settings.read('HOST', String, '127.0.0.1')
  const port = settings.read('PORT', integerReader(0, 65_535), 8080)
  const publicUrl = settings.read('PUBLIC_URL', readPublicUrl, undefined)
  return {
    host,
    port,
    publicUrl: publicUrl ?? urlOnNetwork(host, port),
    apiUrl: publicUrl?.replace(/\/$/, '') ?? '/',
    dataDir: settings.read('DATA_DIR', String, './data'),
    requestsPerMinute: settings.read('RATE_LIMIT_REQUESTS', integerReader(0, RATE_MAX), 6_000),
    measurementsPerMinute: settings.read(
      'RATE_LIMIT_MEASUREMENTS',
      integerReader(0, RATE_MAX),
      600_000,
    ),
    signInsPerMinute: settings.read('RATE_LIMIT_SIGN_IN', integerReader(0, RATE_MAX), 60),
    trustedProxies: settings.read('TRUST_PROXY', readNetworks, []),
    connectionsMax: settings.read('MAX_CONNECTIONS', integerReader(1, 1_000_000), 8_192),
  }
}

function readIngest(settings: Settings) {
  return {
    mayRegisterSensors: settings.read('AUTO_REGISTER', readBoolean, true),
    sensorsPerUserMax: settings.read('MAX_SENSORS_PER_USER', integerReader(1, 10_000_000), 10_000),
    futureMsMax: settings.read('MAX_FUTURE', readDuration, 5 * MINUTE_MS),
    measuredAtMsMin: settings.read('MIN_TIMESTAMP', readMoment, Date.UTC(2010, 0, 1)),
    offlineAfterMs: settings.read('OFFLINE_AFTER', readDuration, 15 * MINUTE_MS),
    lineFields: settings.read('LINE_FIELDS', readList, []),
    lineSerialTags: settings.read('LINE_SERIAL_TAGS', readList, []),
    journalBytesMax: settings.read('MAX_JOURNAL_SIZE', readSize, 4 * 2 ** 30),
    freeDiskMin: settings.read('MIN_FREE_DISK', readFreeSpace, DEFAULT_FREE_DISK),
  }
}

function readSignIn(settings: Settings) {
  const identityProviders = settings
    .providerNames()
    .map((name) => readIdentityProvider(settings, name))
  const redirectUris = settings.read('MOBILE_REDIRECT_URIS', readUrls, [])
  if (identityProviders.length > 0 && redirectUris.length === 0) {
    settings.problems.push('MOBILE_REDIRECT_URIS is required with an identity provider')
  }
  return {
    identityProviders,
    mobileRedirectUris: redirectUris,
    mobileCallbackUrl: settings.read('MOBILE_CALLBACK_URL', readAnyUrl, redirectUris[0]),
    allowSignUp: settings.read('ALLOW_SIGN_UP', readSignUp, false),
    mobileTokenIdleMs: settings.read('MOBILE_TOKEN_IDLE', readDuration, 90 * DAY_MS),
    mobileTokenLifetimeMs: settings.read('MOBILE_TOKEN_LIFETIME', readDuration, 365 * DAY_MS),
    mayEditOnPhones: settings.read('MOBILE_EDITS', readBoolean, true),
    appName: settings.read('APP_NAME', String, 'Thermolog'),
    appMinimumVersion: settings.read('APP_MINIMUM_VERSION', String, undefined),
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
    clientSecret: settings.read(key('CLIENT_SECRET'), String, undefined),
    label: settings.read(key('LABEL'), String, name),
    scopes: settings.read(key('SCOPES'), readScopes, ['openid', 'email', 'profile']),
    callbackUrl: settings.read(key('CALLBACK_URL'), readHttpUrl, undefined),
  }
}

function readLinks(settings: Settings): Config['links'] {
  const links: Partial<Record<'website' | 'privacy' | 'terms' | 'support', string>> = {}
  for (const name of ['website', 'privacy', 'terms', 'support'] as const) {
    const url = settings.read(`LINK_${name.toUpperCase()}`, readHttpUrl, undefined)
    if (url !== undefined) links[name] = url
  }
  return links
}

function readStores(settings: Settings): Pick<Config, 'database' | 'influx'> {
  const url = settings.read('DATABASE_URL', readDatabaseUrl, undefined)
  const durability = settings.read('DURABILITY', choiceReader(DURABILITIES), 'local')
  const influx = readInflux(settings)
  if (url === undefined && settings.text('DURABILITY') !== undefined) {
    settings.problems.push('DURABILITY needs DATABASE_URL: without it the disk of DATA_DIR counts')
  }
  return { database: url === undefined ? undefined : { url, durability }, influx }
}

function readInflux(settings: Settings): InfluxConfig | undefined {
  const missing = INFLUX_KEYS.filter((key) => settings.text(key) === undefined)
  if (missing.length === INFLUX_KEYS.length) return undefined
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

/** Reads settings one by one and collects their faults. An empty setting counts as absent. */
class Settings {
  readonly problems: string[] = []
  readonly #environment: Environment
  readonly #asked = new Set<string>()

  constructor(environment: Environment) {
    this.#environment = environment
  }

  text(key: string): string | undefined {
    this.#asked.add(key)
    const text = this.#environment[key]?.trim()
    return text === '' ? undefined : text
  }

  read<T, D>(key: string, reader: (text: string) => T, byDefault: D): T | D {
    const text = this.text(key)
    if (text === undefined) return byDefault
    try {
      return reader(text)
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      const shown = /TOKEN$|SECRET|DATABASE_URL/.test(key) ? 'its value' : JSON.stringify(text)
      this.problems.push(`${key} ${error.message}, not ${shown}`)
      return byDefault
    }
  }

  /** A required setting. Returns the empty text if it is missing. */
  need(key: string, reader: (text: string) => string): string {
    if (this.text(key) === undefined) this.problems.push(`${key} is missing`)
    return this.read(key, reader, '')
  }

  /** `<NAME>` of every identity provider that has a setting, in alphabetical order. */
  providerNames(): readonly string[] {
    const pattern = new RegExp(`^IDP_([A-Z0-9]+(?:_[A-Z0-9]+)*?)_(${PROVIDER_KEYS.join('|')})$`)
    const names = this.#given().flatMap((key) => pattern.exec(key)?.[1] ?? [])
    return [...new Set(names)].toSorted()
  }

  /** Faults in the names; call it when all settings have been read. */
  judgeNames(): NameFaults {
    return judgeNames(this.#given(), this.#asked, PROVIDER_KEYS)
  }

  #given(): string[] {
    return Object.keys(this.#environment).filter(
      (key) => (this.#environment[key] ?? '').trim() !== '',
    )
  }
}
