// What the service has in its environment, read from its unit. What only systemd knows is refused:
// without it a command would silently work on other data.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { parseEnvironmentFile } from './environment-file.ts'
import { lastOf, rawWords, toText } from './service-unit.ts'
import type { ServiceUnit, UnitValue } from './service-unit.ts'

const CREDENTIAL_BYTES_MAX = 64 * 1024
const CREDENTIAL_KEYS = [
  'LoadCredential',
  'LoadCredentialEncrypted',
  'SetCredential',
  'SetCredentialEncrypted',
  'ImportCredential',
]
/** Without these a command works on other data. */
const NEEDED = new Set(['DATABASE_URL', 'INFLUX_TOKEN'])
/** systemd reads them as C does. */
const C_ESCAPE = /(?<!\\)(?:\\\\)*\\[abfnrtvsxuU0-7]/

/** Each value with the file that it is from. */
export type UnitEnvironment = Record<string, UnitValue>
/** Whether the value of a name is to be had from the unit. */
type IsOpen = (name: string) => boolean

/**
 * What the service has in its environment; DATA_DIR is an absolute path, and what the service gets
 * as a credential is there as a setting.
 *
 * @param isOpen of the names that are left out, none is an error
 * @throws Error if a file cannot be read, or only systemd knows a value; none has a value in it
 */
export function readServiceEnvironment(unit: ServiceUnit, isOpen: IsOpen): UnitEnvironment {
  const isElsewhere = !isOpen('DATA_DIR') || !isOpen('DATABASE_URL')
  if (isOn(lastOf(unit, 'DynamicUser')) && !isElsewhere) throw beyond(unit, 'DynamicUser')
  refuseChangedNames(unit, isOpen)
  const all = { ...readAssignments(unit, isOpen), ...readFiles(unit, isElsewhere) }
  const open = Object.entries(all).filter(([name]) => isOpen(name))
  const environment = { ...readCredentials(unit, isOpen, all), ...Object.fromEntries(open) }
  const torn = Object.keys(environment).find((name) => environment[name]?.value.includes('\0'))
  if (torn !== undefined) throw new Error(`${torn} has a NUL in it`)
  if (isOpen('DATA_DIR')) environment['DATA_DIR'] = dataDir(unit, environment['DATA_DIR'])
  return environment
}

export function isOn(value = ''): boolean {
  return /^(1|yes|y|true|t|on)$/i.test(value)
}

function dataDir(unit: ServiceUnit, given?: UnitValue): UnitValue {
  const { value, file } = given ?? { value: 'data', file: unit.path }
  const folder = lastOf(unit, 'WorkingDirectory')?.replace(/^-/, '') ?? '/'
  if (isAbsolute(value)) return { value, file }
  if (!isAbsolute(folder) || hasSpecifier(folder)) throw beyond(unit, 'WorkingDirectory')
  return { value: resolve(folder.replaceAll('%%', '%'), value), file }
}

function refuseChangedNames(unit: ServiceUnit, isOpen: IsOpen): void {
  for (const key of ['UnsetEnvironment', 'PassEnvironment']) {
    const words = entriesOf(unit, key).flatMap(({ value }) => rawWords(value).map(toText))
    const name = words.map((word) => cut(word, '=')[0]).find(isOpen)
    if (name !== undefined) throw beyond(unit, key, name)
  }
}

function readAssignments(unit: ServiceUnit, isOpen: IsOpen): UnitEnvironment {
  const words = entriesOf(unit, 'Environment').flatMap(({ file, value }) =>
    rawWords(value).map((word) => ({ file, word })),
  )
  const environment: UnitEnvironment = {}
  for (const { file, word } of words) {
    const [name, value] = cut(toText(word), '=')
    if (isOpen(name) && (hasSpecifier(word) || C_ESCAPE.test(word))) {
      throw beyond(unit, 'Environment', name)
    }
    environment[name] = { file, value }
  }
  return environment
}

function readFiles(unit: ServiceUnit, isElsewhere: boolean): UnitEnvironment {
  const environment: UnitEnvironment = {}
  for (const { value } of entriesOf(unit, 'EnvironmentFile')) {
    const path = value.replace(/^-/, '')
    const isKnown = !/[*?[]/.test(path) && !hasSpecifier(path)
    if (!isKnown && !isElsewhere) throw beyond(unit, 'EnvironmentFile')
    const file = path.replaceAll('%%', '%')
    if (isKnown && (path === value || existsSync(file))) {
      const entries = Object.entries(parseEnvironmentFile(readFileSync(file, 'utf8')))
      for (const [name, text] of entries) environment[name] = { file, value: text }
    }
  }
  return environment
}

/** Credentials count last: a file of the same setting would be one value too many. */
function readCredentials(
  unit: ServiceUnit,
  isOpen: IsOpen,
  others: UnitEnvironment,
): UnitEnvironment {
  const environment: UnitEnvironment = {}
  const isMissing = (name: string) => isOpen(name) && !(name in others)
  for (const key of CREDENTIAL_KEYS) {
    for (const { value } of entriesOf(unit, key)) {
      const [name, path] = cut(value, ':')
      if (!isMissing(name) || !isOpen(`${name}_FILE`) || `${name}_FILE` in others) continue
      const isKnown = key === 'LoadCredential' && isAbsolute(path) && !hasSpecifier(path)
      const file = path.replaceAll('%%', '%')
      if (isKnown) environment[name] = { file, value: readCredential(name, file) }
      else if (NEEDED.has(name)) throw beyond(unit, key, name)
    }
  }
  return environment
}

function readCredential(name: string, path: string): string {
  try {
    const stats = statSync(path)
    if (!stats.isFile()) throw new Error(`${path} is not a file`)
    if (stats.size > CREDENTIAL_BYTES_MAX) throw new Error(`${path} is larger than 64 KiB`)
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    const { message } = error as Error
    throw new Error(`the credential ${name} cannot be used: ${message}`, { cause: error })
  }
}

function entriesOf({ values }: ServiceUnit, key: string) {
  return values.get(key) ?? []
}

function hasSpecifier(text: string): boolean {
  return text.replaceAll('%%', '').includes('%')
}

function beyond(unit: ServiceUnit, key: string, name = 'DATA_DIR'): Error {
  const file = entriesOf(unit, key).at(-1)?.file ?? unit.path
  return new Error(`${key}= in ${file} cannot be followed here: set ${name} for the command`)
}

function cut(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
