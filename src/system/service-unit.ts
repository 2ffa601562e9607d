// The units `thermolog.service` and `thermolog.socket` as they are installed, with their drop-ins.
// The files are read, because systemd can be asked only where it runs.

import { existsSync, readFileSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SERVICE = 'thermolog.service'
const SOCKET = 'thermolog.socket'
/** Where `systemctl enable` puts it. */
const ENABLED_SOCKET = `/etc/systemd/system/sockets.target.wants/${SOCKET}`
/** A file in an earlier one hides its namesake in a later one. */
const FOLDERS = ['/etc', '/run', '/usr/local/lib', '/usr/lib'].map((root) =>
  join(root, 'systemd/system'),
)
const PROGRAM = fileURLToPath(new URL('../../', import.meta.url))
/** Here the program belongs to a package, and so does the name of the unit. */
const PACKAGED = '/usr/lib/thermolog/'

export interface ServiceUnit {
  readonly path: string
  /** Of each key in `[Service]`, in order. */
  readonly values: ReadonlyMap<string, readonly UnitValue[]>
  /** Whether there is a file that this user may not read. */
  readonly isHidden: boolean
}

export interface UnitValue {
  readonly file: string
  readonly value: string
}

/** @returns `undefined` if no unit is installed, or it starts another program than this one */
export function ownServiceUnit(): ServiceUnit | undefined {
  const unit = installedUnit()
  return unit !== undefined && startsThis(unit) ? unit : undefined
}

/** @throws Error if this program is a package's, and the unit installed starts another one */
export function refuseForeignUnit(): void {
  const unit = PROGRAM === PACKAGED ? installedUnit() : undefined
  if (unit === undefined || startsThis(unit)) return
  const started = programOf(unit) || 'nothing'
  throw new Error(`${unit.path} starts ${started}, not this program: set DATA_DIR for the command`)
}

/** What systemd listens to for the service; `undefined`: it does not. */
export function activatedAddress(): string | undefined {
  const unit = existsSync(ENABLED_SOCKET) ? installedUnit(SOCKET, '[Socket]') : undefined
  return unit === undefined ? undefined : lastOf(unit, 'ListenStream')
}

function installedUnit(name = SERVICE, section = '[Service]'): ServiceUnit | undefined {
  const units = FOLDERS.map((folder) => join(folder, name)).filter(existsSync)
  // One that is masked is empty.
  const path = units.find((file) => readText(file) !== '')
  return path === undefined ? undefined : parseUnit(path, dropIns(name), section)
}

function startsThis(unit: ServiceUnit): boolean {
  const program = programOf(unit)
  return existsSync(program) && realpathSync(program).startsWith(PROGRAM)
}

function programOf(unit: ServiceUnit): string {
  const [command = ''] = rawWords(lastOf(unit, 'ExecStart') ?? '')
  return toText(command).replace(/^[-@:+!|]+/, '')
}

/** @returns `undefined` if the unit does not have the key */
export function lastOf({ values }: ServiceUnit, key: string): string | undefined {
  return values.get(key)?.at(-1)?.value
}

export function setsDataDir(unit: ServiceUnit): boolean {
  const words = (unit.values.get('Environment') ?? []).flatMap(({ value }) => rawWords(value))
  return unit.isHidden || words.some((word) => toText(word).startsWith('DATA_DIR='))
}

/** Folders and links to nothing are passed over; a link to `/dev/null` hides its namesakes. */
function dropIns(name: string): string[] {
  const files = [`${name}.d`, `${name.split('.')[1]}.d`]
    .flatMap((folder) => FOLDERS.map((root) => join(root, folder)))
    .filter(existsSync)
    .flatMap(changesIn)
  const byName = new Map(files.toReversed().map((file) => [basename(file), file]))
  return [...byName].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, file]) => file)
}

/** One that this user may not list stands for what is in it. */
function changesIn(folder: string): string[] {
  const names = ifAllowed(() => readdirSync(folder))
  if (names === undefined) return [folder]
  return names
    .filter((name) => name.endsWith('.conf'))
    .map((name) => join(folder, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isDirectory() === false)
}

/**
 * Reads a unit with its drop-ins. An empty value takes back what came before.
 *
 * @param changes the drop-ins, in order
 */
export function parseUnit(
  path: string,
  changes: readonly string[],
  section = '[Service]',
): ServiceUnit {
  const values = new Map<string, UnitValue[]>()
  const texts = [path, ...changes].map((file) => ({ file, text: readText(file) }))
  for (const { file, text = '' } of texts) {
    for (const [key, value] of linesOf(section, text)) {
      values.set(key, value === '' ? [] : [...(values.get(key) ?? []), { file, value }])
    }
  }
  return { path, values, isHidden: texts.some(({ text }) => text === undefined) }
}

function readText(file: string): string | undefined {
  return ifAllowed(() => readFileSync(file, 'utf8'))
}

/** @returns `undefined` if this user may not */
function ifAllowed<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return undefined
    throw error
  }
}

function linesOf(wanted: string, text: string): [string, string][] {
  const lines = text
    .replaceAll(/^[ \t]*[#;].*(?:\n|$(?![^]))/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
  const found: [string, string][] = []
  let section = ''
  for (const line of lines) {
    section = /^\[.*\]$/.test(line) ? line : section
    const [, key, value = ''] = /^(\w+)\s*=\s*(.*)$/.exec(line) ?? []
    if (section === wanted && key !== undefined) found.push([key, value])
  }
  return found
}

/** Words as units have them, with their quotes: they keep spaces. */
export function rawWords(text: string): readonly string[] {
  return text.match(/(?:"(?:\\[^]|[^"\\])*"|'[^']*'|\\[^]|[^\s"'\\])+/g) ?? []
}

/** What a word means; `%%` is a percent sign. */
export function toText(word: string): string {
  return word
    .replaceAll(
      /"((?:\\[^]|[^"\\])*)"|'([^']*)'/g,
      (_, double?: string, single?: string) => double ?? single ?? '',
    )
    .replaceAll(/\\([^])/g, '$1')
    .replaceAll('%%', '%')
}
