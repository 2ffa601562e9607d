// The formats of settings: durations, sizes, lists, addresses. Each reader takes the text of one
// setting and returns its value, or throws a FormError that says what it should look like.

import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import type { AndroidApp } from './domain/app-links.ts'
import type { FreeSpaceRule } from './domain/free-space.ts'
import { isSecureUrl } from './domain/secure-url.ts'
import { parseInstant } from './domain/time.ts'

/** A text does not have the format of its setting; the message says what it must be. */
export class FormError extends Error {}

const DURATION_UNITS_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

const SIZE_UNITS_BYTES: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
}

/** `30s`, `15m`, `12h`, `90d`; more than zero. */
export function readDuration(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const durationMs = Number(digits) * (DURATION_UNITS_MS[unit] ?? NaN)
  if (durationMs > 0) return durationMs
  throw new FormError('must be a duration like 30s, 15m, 12h or 90d')
}

/** `4GiB`, `256MiB`; more than zero. */
export function readSize(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)\s?([KMGT]iB|B)$/.exec(text) ?? []
  const bytes = Math.floor(Number(digits) * (SIZE_UNITS_BYTES[unit] ?? NaN))
  if (bytes > 0) return bytes
  throw new FormError('must be a size like 256MiB or 4GiB')
}

/** `5%`, a size, or both with a comma between them: the smaller counts. */
export function readFreeSpace(text: string): FreeSpaceRule {
  const rules = text.split(',').map((part) => readOneFreeSpace(part.trim()))
  return {
    volumePercent: Math.min(...rules.map(({ volumePercent }) => volumePercent)),
    bytes: Math.min(...rules.map(({ bytes }) => bytes)),
  }
}

function readOneFreeSpace(text: string): FreeSpaceRule {
  const percent = /^(\d{1,2}(?:\.\d{1,3})?)\s?%$/.exec(text)?.[1]
  if (percent !== undefined) return { volumePercent: Number(percent), bytes: Infinity }
  if (/^0+B?$/.test(text)) return { volumePercent: 0, bytes: 0 }
  try {
    return { volumePercent: 100, bytes: readSize(text) }
  } catch {
    throw new FormError('must be a share of the volume like 2% or a size like 256MiB')
  }
}

export function readBoolean(text: string): boolean {
  if (text === 'true') return true
  if (text === 'false') return false
  throw new FormError('must be true or false')
}

/** Returns a reader of whole numbers between two bounds. */
export function integerReader(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    if (value >= min && value <= max) return value
    throw new FormError(`must be a whole number from ${min} to ${max}`)
  }
}

export function readMoment(text: string): number {
  const atMs = parseInstant(text)
  if (atMs !== undefined) return atMs
  throw new FormError('must be a time like 2010-01-01T00:00:00Z')
}

/** Returns a reader that accepts one of some words. */
export function choiceReader<T extends string>(choices: readonly T[]): (text: string) => T {
  return (text) => {
    const choice = choices.find((known) => known === text)
    if (choice !== undefined) return choice
    throw new FormError(`must be one of: ${choices.join(', ')}`)
  }
}

/** A list separated by commas; spaces around its parts are ignored. */
export function readList(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** A web URL without user, password or fragment. */
export function readHttpUrl(text: string): string {
  const url = URL.parse(text)
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:'
  if (url && isWeb && url.username === '' && url.password === '' && url.hash === '') return text
  throw new FormError('must be an http or https URL')
}

/** Where people reach the service: a web URL without a query. */
export function readPublicUrl(text: string): string {
  if (!text.includes('?') && URL.canParse(readHttpUrl(text))) return text
  throw new FormError('must be an http or https URL without a query')
}

const OWN_SEGMENTS = new Set(
  (
    'api app docs health healthz manifest.webmanifest metrics openapi openapi.json ping problems ' +
    'query readyz service-worker.js web write'
  ).split(' '),
)

/** The prefix of every path that the service sees, without a slash at its end; `''`: none. */
export function readBasePath(text: string): string {
  const path = text.replace(/\/$/, '')
  if (!/^(\/[\w~-][\w.~-]*)*$/.test(path)) throw new FormError('must be a path like /thermolog')
  const first = path.split('/')[1] ?? ''
  if (!OWN_SEGMENTS.has(first)) return path
  throw new FormError(`must not begin with /${first}, where the service has something itself`)
}

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

/** A URL to which secrets may be sent: https, or http on this machine. */
export function readSecureUrl(text: string): string {
  if (isSecureUrl(readHttpUrl(text))) return text
  throw new FormError('must be an https URL, or http on loopback')
}

/** Where PostgreSQL is: one host or several, separated by commas, or `?host=` with a folder. */
export function readDatabaseUrl(text: string): string {
  const [, hosts = ''] =
    /^postgres(?:ql)?:\/\/(?:[^@/?]*@)?([^/?]*)\/[^/?]+(?:\?.*)?$/.exec(text) ?? []
  const isWhole = hosts !== '' || /[?&]host=/.test(text)
  const parses = hosts.split(',').every((host) => URL.canParse(text.replace(hosts, host)))
  if (isWhole && parses) return text
  throw new FormError('must be like postgresql://user:password@host:5432/name')
}

/** A URL of any scheme, as apps use them. */
export function readAnyUrl(text: string): string {
  const url = URL.parse(text)
  if (url && url.hash === '' && !/^(javascript|data|vbscript|file|blob):$/.test(url.protocol)) {
    return text
  }
  throw new FormError('must be a URL like com.example.app:/callback')
}

/** Addresses and networks: `10.0.0.1`, `10.0.0.0/8`, `::1`, `fd00::/8`. */
export function readNetworks(text: string): readonly string[] {
  const networks = readList(text)
  if (networks.every(isNetwork)) return networks
  throw new FormError('must be addresses and networks like 10.0.0.1, fd00::/8')
}

function isNetwork(text: string): boolean {
  const [address = '', bits] = text.split('/')
  const version = isIP(address)
  const bitsMax = version === 4 ? 32 : 128
  if (version === 0 || text.split('/').length > 2) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax)
}

const ANDROID_APP = /^([a-z]\w*(?:\.[a-z]\w*)+)\/([0-9a-f]{2}(?::[0-9a-f]{2}){31})$/i
const APPLE_APP = /^[A-Z0-9]{10}(\.[A-Za-z0-9-]+)+$/

/** `org.example.app/14:6D:…`, separated by commas. */
export function readAndroidApps(text: string): readonly AndroidApp[] {
  return readList(text).map((app) => {
    const [, packageName = '', fingerprint = ''] = ANDROID_APP.exec(app) ?? []
    if (packageName !== '') return { packageName, fingerprint: fingerprint.toUpperCase() }
    throw new FormError('must be apps like org.example.app/14:6D:… with 32 pairs of digits')
  })
}

/** `ABCDE12345.org.example.app`, separated by commas. */
export function readAppleApps(text: string): readonly string[] {
  const apps = readList(text)
  if (apps.every((app) => APPLE_APP.test(app))) return apps
  throw new FormError('must be apps like ABCDE12345.org.example.app, with the id of the team')
}
