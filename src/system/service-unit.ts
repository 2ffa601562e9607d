// The unit `thermolog.service` as it is installed, with its drop-ins. The files are read, because
// systemd can be asked only where it runs.

import { existsSync, readFileSync, readdirSync, realpathSync } from 'node:fs'
import { basename, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnvironmentFile } from './environment-file.ts'

const NAME = 'thermolog.service'
/** A file in an earlier one hides its namesake in a later one. */
const FOLDERS = ['/etc/systemd/system', '/run/systemd/system', '/usr/lib/systemd/system']
const PROGRAM = fileURLToPath(new URL('../../', import.meta.url))

export interface ServiceUnit {
  readonly path: string
  /** Of each key in `[Service]`, in order. */
  readonly values: ReadonlyMap<string, readonly string[]>
}

type Environment = Record<string, string>

/** @returns `undefined` if no unit is installed, or it starts another program than this one */
export function ownServiceUnit(): ServiceUnit | undefined {
  const units = FOLDERS.map((folder) => join(folder, NAME)).filter(existsSync)
  // One that is masked is empty.
  const path = units.find((file) => readFileSync(file, 'utf8') !== '')
  if (path === undefined) return undefined
  const unit = { path, values: parseUnit([path, ...dropIns()]) }
  const [command = ''] = words(lastOf(unit, 'ExecStart') ?? '')
  const program = command.replace(/^[-@:+!|]+/, '')
  return existsSync(program) && realpathSync(program).startsWith(PROGRAM) ? unit : undefined
}

/** @returns `undefined` if the unit does not have the key */
export function lastOf({ values }: ServiceUnit, key: string): string | undefined {
  return values.get(key)?.at(-1)
}

export function setsDataDir(unit: ServiceUnit): boolean {
  return assignments(unit).some(([name]) => name === 'DATA_DIR')
}

/**
 * What the service has in its environment; DATA_DIR is an absolute path, and what the service gets
 * as a credential is there as a setting.
 *
 * @throws Error if a file cannot be read
 */
export function readServiceEnvironment(unit: ServiceUnit): Environment {
  const all = (key: string) => unit.values.get(key) ?? []
  const environment: Environment = Object.fromEntries(assignments(unit))
  for (const file of all('EnvironmentFile')) {
    const path = file.replace(/^-/, '')
    if (path === file || existsSync(path)) {
      Object.assign(environment, parseEnvironmentFile(readFileSync(path, 'utf8')))
    }
  }
  const folder = lastOf(unit, 'WorkingDirectory')?.replace(/^-/, '') ?? '/'
  const DATA_DIR = resolve(folder, environment['DATA_DIR'] ?? 'data')
  return { ...readCredentials(all('LoadCredential'), environment), ...environment, DATA_DIR }
}

function assignments({ values }: ServiceUnit): [string, string][] {
  return (values.get('Environment') ?? []).flatMap(words).map((word) => cut(word, '='))
}

/** Credentials count last: a file of the same setting would be one value too many. */
function readCredentials(entries: readonly string[], environment: Environment): Environment {
  const files = entries
    .map((entry) => cut(entry, ':'))
    .filter(([name, path]) => isAbsolute(path) && environment[`${name}_FILE`] === undefined)
  return Object.fromEntries(
    files.map(([name, path]) => [name, readFileSync(path, 'utf8').replace(/\r?\n$/, '')]),
  )
}

function dropIns(): string[] {
  const folders = FOLDERS.map((folder) => join(folder, `${NAME}.d`)).filter(existsSync)
  const files = folders
    .toReversed()
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  const byName = new Map(files.map((file) => [basename(file), file]))
  const names = [...byName.keys()].filter((name) => name.endsWith('.conf')).toSorted()
  return names.flatMap((name) => byName.get(name) ?? [])
}

/** An empty value takes back what came before. */
function parseUnit(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>()
  for (const file of files) {
    const text = readFileSync(file, 'utf8').replaceAll(/^[ \t]*[#;].*\n/gm, '')
    const [, service = ''] = /^\[Service\]$([^]*?)(?:^\[|$(?![^]))/m.exec(text) ?? []
    for (const line of service.replaceAll(/\\\n/g, ' ').matchAll(/^\s*(\w+)\s*=(.*)$/gm)) {
      const [key = '', value = ''] = line.slice(1).map((part) => part.trim())
      values.set(key, value === '' ? [] : [...(values.get(key) ?? []), value])
    }
  }
  return values
}

/** Words as units have them: quotes keep spaces, `%%` is a percent sign. */
function words(text: string): string[] {
  const found = text.match(/(?:"(?:\\[^]|[^"\\])*"|'[^']*'|\\[^]|[^\s"'\\])+/g) ?? []
  return found.map((word) =>
    word
      .replaceAll(
        /"((?:\\[^]|[^"\\])*)"|'([^']*)'/g,
        (_, double?: string, single?: string) => double ?? single ?? '',
      )
      .replaceAll(/\\([^])/g, '$1')
      .replaceAll('%%', '%'),
  )
}

function cut(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
