// The formats of settings: durations, sizes, lists, addresses. Each reader takes the text of one
// setting and returns its value, or throws a FormError that says what it must be.

import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import type { FreeSpaceRule } from './domain/free-space.ts'
import { isSecureUrl } from './domain/secure-url.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, parseInstant } from './domain/time.ts'

/** A text does not have the format of its setting; the message says what it must be. */
export class FormError extends Error {}

export interface Reader<T> {
  /** @throws FormError */
  (text: string): T
  /** What follows "must be". */
  readonly form: string
  /** Whether what it reads is never shown, and may be in a file. */
  readonly isSecret?: boolean
}

/** @param parse returns `undefined` for what does not have the form */
function reader<T>(form: string, parse: (text: string) => T | undefined): Reader<T> {
  const read = (text: string) => {
    const value = parse(text)
    if (value === undefined) throw new FormError(`must be ${form}`)
    return value
  }
  return Object.assign(read, { form })
}

/** @param parse gets each part between commas */
function listReader<T>(form: string, parse: (part: string) => T | undefined) {
  return reader<readonly T[]>(`${form}, separated by commas`, (text) => {
    const values = partsOf(text).map(parse)
    return values.every((value) => value !== undefined) ? values : undefined
  })
}

function partsOf(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

function secret<T>(read: Reader<T>): Reader<T> {
  return Object.assign(read, { isSecret: true })
}

/** Returns a parser that takes the texts that pass a test as they are. */
function only(passes: (text: string) => boolean): (text: string) => string | undefined {
  return (text) => (passes(text) ? text : undefined)
}

export const readText = reader('a text', String)
export const readSecretText = secret(reader('a text', String))
export const readNames = listReader('names', String)

const UNITS_MS = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS }

/** Milliseconds; more than zero. */
export const readDuration = reader('a duration like 30s, 15m, 12h or 90d', (text) => {
  const [, digits, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  return Number(digits) * UNITS_MS[unit as keyof typeof UNITS_MS] || undefined
})

/** Bytes; more than zero. */
export const readSize = reader('a size like 256MiB or 4GiB', parseSize)

function parseSize(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)\s?([KMGT]iB|B)$/.exec(text) ?? []
  return Math.floor(Number(digits) * 1024 ** 'BKMGT'.indexOf(unit.charAt(0))) || undefined
}

/** Of several the smallest counts. */
export const readFreeSpace = reader(
  'a share of the volume like 2% or a size like 256MiB',
  (text) => {
    const rules = text.split(',').map((part) => parseFreeSpace(part.trim()))
    if (!rules.every((rule) => rule !== undefined)) return undefined
    return {
      volumePercent: Math.min(...rules.map(({ volumePercent }) => volumePercent)),
      bytes: Math.min(...rules.map(({ bytes }) => bytes)),
    }
  },
)

function parseFreeSpace(text: string): FreeSpaceRule | undefined {
  const percent = /^(\d{1,2}(?:\.\d{1,3})?)\s?%$/.exec(text)?.[1]
  if (percent !== undefined) return { volumePercent: Number(percent), bytes: Infinity }
  if (/^0+B?$/.test(text)) return { volumePercent: 0, bytes: 0 }
  const bytes = parseSize(text)
  return bytes === undefined ? undefined : { volumePercent: 100, bytes }
}

export const readBoolean = reader('true or false', parseBoolean)

function parseBoolean(text: string): boolean | undefined {
  return text === 'true' || (text === 'false' ? false : undefined)
}

/** Returns a reader of whole numbers between two bounds. */
export function integerReader(min: number, max: number): Reader<number> {
  return reader(`a whole number from ${min} to ${max}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    return value >= min && value <= max ? value : undefined
  })
}

/** Milliseconds since 1970. */
export const readMoment = reader('a time like 2010-01-01T00:00:00Z', parseInstant)

/** Returns a reader that accepts one of some words. */
export function choiceReader<T extends string>(...choices: readonly T[]): Reader<T> {
  return reader(`one of: ${choices.join(', ')}`, (text) => choices.find((known) => known === text))
}

/** A web URL without user, password or fragment. */
export const readHttpUrl = reader('an http or https URL', only(isHttpUrl))

/** Where people reach the service. */
export const readPublicUrl = reader(
  'an http or https URL without a query',
  only((text) => isHttpUrl(text) && !text.includes('?')),
)

/** A URL to which secrets may be sent. */
export const readSecureUrl = reader(
  'an https URL, or http on loopback',
  only((text) => isHttpUrl(text) && isSecureUrl(text)),
)

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text)
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:'
  return isWeb && url.username === '' && url.password === '' && url.hash === ''
}

/** URLs of any scheme, as apps use them. */
export const readAnyUrl = reader('a URL like com.example.app:/callback', only(isOpened))
export const readAnyUrls = listReader('URLs like com.example.app:/callback', only(isOpened))

function isOpened(text: string): boolean {
  const url = URL.parse(text)
  return url?.hash === '' && !/^(javascript|data|vbscript|file|blob):$/.test(url.protocol)
}

const OWN_SEGMENTS = new Set(
  (
    'api app docs health healthz manifest.webmanifest metrics openapi openapi.json ping problems ' +
    'query readyz service-worker.js web write'
  ).split(' '),
)

/** The prefix of every path that the service sees, without a slash at its end; `''`: none. */
export const readBasePath = reader('a path like /thermolog', (text) => {
  const path = text.replace(/\/$/, '')
  if (!/^(\/[\w~-][\w.~-]*)*$/.test(path)) return undefined
  const first = path.split('/')[1] ?? ''
  if (!OWN_SEGMENTS.has(first)) return path
  throw new FormError(`must not begin with /${first}, where the service has something itself`)
})

/** This machine's address in its network; `undefined`: it is in none. */
export function networkAddress(): string | undefined {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address
}

/** Where other machines in the same network reach the service, if it listens to them. */
export function urlOnNetwork(host: string, port: number): string {
  const isWildcard = host === '0.0.0.0' || host === '::'
  // Phones rarely know the names of machines.
  const name = isWildcard ? (networkAddress() ?? hostname()) : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** Where PostgreSQL is: one host or several, separated by commas, or `?host=` with a folder. */
export const readDatabaseUrl = secret(
  reader('like postgresql://user:password@host:5432/name', only(isDatabaseUrl)),
)

function isDatabaseUrl(text: string): boolean {
  const [, hosts = ''] =
    /^postgres(?:ql)?:\/\/(?:[^@/?]*@)?([^/?]*)\/[^/?]+(?:\?.*)?$/.exec(text) ?? []
  const isWhole = hosts !== '' || /[?&]host=/.test(text)
  return isWhole && hosts.split(',').every((host) => URL.canParse(text.replace(hosts, host)))
}

export const readNetworks = listReader(
  'addresses and networks like 10.0.0.1 or fd00::/8',
  only((text) => {
    const [address = '', bits = '0', ...rest] = text.split('/')
    const bitsMax = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
    return rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax
  }),
)

const ANDROID_APP = /^([a-z]\w*(?:\.[a-z]\w*)+)\/([0-9a-f]{2}(?::[0-9a-f]{2}){31})$/i
const APPLE_APP = /^[A-Z0-9]{10}(\.[A-Za-z0-9-]+)+$/

export const readAndroidApps = listReader(
  'apps like org.example.app/14:6D:… with 32 pairs of digits',
  (text) => {
    const [, packageName = '', fingerprint = ''] = ANDROID_APP.exec(text) ?? []
    return packageName === '' ? undefined : { packageName, fingerprint: fingerprint.toUpperCase() }
  },
)

export const readAppleApps = listReader(
  'apps like ABCDE12345.org.example.app with the id of the team',
  only((text) => APPLE_APP.test(text)),
)

/** The scopes that a provider is asked for. */
export const readScopes = reader('scopes with openid among them', (text) => {
  const scopes = text.split(/[\s,]+/)
  return scopes.includes('openid') ? scopes.filter((scope) => scope !== '') : undefined
})

/** Anyone, nobody, or people with addresses in one of these e-mail domains. */
export const readSignUp = reader<boolean | readonly string[]>(
  'true, false or e-mail domains like example.org, example.com',
  (text) => {
    const domains = partsOf(text.toLowerCase())
    const areDomains = domains.every((domain) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain))
    return parseBoolean(text) ?? (areDomains && domains.length > 0 ? domains : undefined)
  },
)
