// Reads settings as their rows say, one by one, and collects all faults. An empty setting counts as
// absent.

import { join } from 'node:path'
import { readSecret } from './config-secrets.ts'
import { FormError, readText } from './config-values.ts'
import type { Reader } from './config-values.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A default that depends on other settings. */
interface Derived {
  /** For the document. */
  readonly words: string
  /** From the texts of settings that have been read. Without it whoever uses the value decides. */
  readonly from?: (text: (name: string) => string) => string | undefined
}

/** Instead of a default. */
export const NEEDED = null

/** A default is what one would set; `undefined`: there need not be a value. */
export type Setting = readonly [
  name: string,
  reader: Reader<unknown>,
  byDefault: string | undefined | Derived | typeof NEEDED,
  help: string,
]

export type Section = Readonly<Record<string, Setting>>

type Value<S> = S extends readonly [string, Reader<infer T>, infer Default, string]
  ? Default extends string | typeof NEEDED | { readonly from: (text: never) => string }
    ? T
    : T | undefined
  : never

/** What is read of a section. */
export type Values<S extends Section> = { readonly [Member in keyof S]: Value<S[Member]> }

/** Invalid settings; the message lists every one of them. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`The settings are not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** A setting as it counts. */
export interface UnderstoodSetting {
  readonly name: string
  /** `undefined`: it is a secret. */
  readonly value: string | undefined
  /** `default`, or what it was read from. */
  readonly source: string
}

interface Text {
  /** Empty where it cannot be read, which is noted. */
  readonly text: string
  readonly source: string
}

const DEFAULT = 'default'

export class Settings {
  readonly problems: string[] = []
  readonly #environment: Environment
  readonly #sources: Environment
  readonly #found = new Map<string, (Text & UnderstoodSetting) | undefined>()

  /** @param sources what each was read from, unless that is the environment itself */
  constructor(environment: Environment, sources: Environment = {}) {
    this.#environment = environment
    this.#sources = sources
  }

  /** @param provider stands for `<NAME>` in the rows of identity providers */
  readAll<S extends Section>(section: S, provider = ''): Values<S> {
    const named = (text: string) => text.replace('<NAME>', provider)
    const values = Object.entries(section).map(([member, [name, reader, byDefault, help]]) => {
      const own = typeof byDefault === 'string' ? named(byDefault) : byDefault
      return [member, this.read([named(name), reader, own, help])]
    })
    return Object.fromEntries(values) as Values<S>
  }

  /** Beside a problem, with which nobody gets a Config, it may be `undefined`. */
  read<S extends Setting>(setting: S): Value<S>
  read(setting: Setting): unknown {
    const [name, reader, byDefault] = setting
    const found = this.#find(setting)
    if (found === undefined && byDefault === NEEDED) this.problems.push(`${name} is missing`)
    if (found === undefined || (reader.isSecret && found.text === '')) return undefined
    try {
      return reader(found.text)
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      const shown = reader.isSecret ? 'its value' : JSON.stringify(found.value)
      // A default is wrong where what it is derived from is.
      if (found.source !== DEFAULT) this.problems.push(`${name} ${error.message}, not ${shown}`)
      return undefined
    }
  }

  /** Whether it has a value that is not its default. */
  has(setting: Setting): boolean {
    return (this.#find(setting)?.source ?? DEFAULT) !== DEFAULT
  }

  /** An empty text is none. */
  text(name: string): string | undefined {
    return this.#environment[name]?.trim() || undefined
  }

  /** Names that have a text, of other programs too. */
  given(): readonly string[] {
    return Object.keys(this.#environment).filter((name) => this.text(name) !== undefined)
  }

  /** What was read and has a value, by name. */
  understood(): readonly UnderstoodSetting[] {
    return [...this.#found.values()]
      .filter((found) => found !== undefined)
      .flatMap(({ name, value, source }) => (value === '' ? [] : { name, value, source }))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }

  #find([name, { isSecret }, byDefault]: Setting) {
    if (!this.#found.has(name)) {
      const given = isSecret ? this.#secret(name) : this.#plain(name)
      const found = given ?? this.#default(byDefault)
      const value = isSecret ? undefined : withoutUser(found?.text ?? '')
      this.#found.set(name, found && { ...found, name, value })
    }
    return this.#found.get(name)
  }

  #plain(name: string): Text | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    return { text, source: this.#sources[name] ?? 'environment' }
  }

  #default(byDefault: Setting[2]): Text | undefined {
    const text =
      typeof byDefault === 'object'
        ? byDefault?.from?.((name) => this.#found.get(name)?.text ?? '')
        : byDefault
    return text === undefined ? undefined : { text, source: DEFAULT }
  }

  /** Itself, in the file that `<NAME>_FILE` names, or the credential that systemd hands over. */
  #secret(name: string): Text | undefined {
    const plain = this.#plain(name)
    const file = this.#find([`${name}_FILE`, readText, undefined, ''])?.text
    if (plain !== undefined && file !== undefined) {
      this.problems.push(`${name} and ${name}_FILE are both set: remove one of them`)
    }
    if (plain !== undefined) return plain
    const folder = this.text('CREDENTIALS_DIRECTORY')
    const path = file ?? (folder && join(folder, name))
    if (path === undefined) return undefined
    const source = file ?? 'credential'
    try {
      return { text: readSecret(path), source }
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (file === undefined && code === 'ENOENT') return undefined
      const what = file === undefined ? 'the credential' : `${name}_FILE`
      const fault = code === undefined ? message : `cannot be read (${code})`
      this.problems.push(`${what} ${path} ${fault}`)
      return { text: '', source }
    }
  }
}

/** A URL's user and password are none of ours, and not for others to read. */
function withoutUser(text: string): string {
  return text.replaceAll(/(:\/\/)[^/?#]*@/g, '$1…@')
}
