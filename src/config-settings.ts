// The settings as texts: reads each one when it is asked for, and collects all faults.

import { judgeNames } from './config-names.ts'
import type { NameFaults } from './config-names.ts'
import { SecretFault, isSecret, readCredential, readSecret } from './config-secrets.ts'
import { FormError } from './config-values.ts'

export type Environment = Readonly<Record<string, string | undefined>>

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

const DEFAULT = 'default'

interface SecretText {
  readonly text: string
  readonly source: string
}

/** An empty setting counts as absent. */
export class Settings {
  readonly problems: string[] = []
  readonly #environment: Environment
  readonly #sources: Environment
  readonly #asked = new Set<string>()
  readonly #defaults = new Map<string, string>()
  readonly #secrets = new Map<string, SecretText | undefined>()

  /** @param sources what each was read from, unless that is the environment itself */
  constructor(environment: Environment, sources: Environment = {}) {
    this.#environment = environment
    this.#sources = sources
  }

  /** Of a secret that is named and cannot be read: the empty text, and its fault is noted. */
  text(key: string): string | undefined {
    this.#asked.add(key)
    if (!isSecret(key)) return this.#plain(key)
    if (!this.#secrets.has(key)) this.#secrets.set(key, this.#secret(key))
    return this.#secrets.get(key)?.text
  }

  /** @param byDefault as one would set it */
  read<T>(key: string, reader: (text: string) => T, byDefault: string): T
  read<T>(key: string, reader: (text: string) => T, byDefault?: string): T | undefined
  read<T>(key: string, reader: (text: string) => T, byDefault?: string): T | undefined {
    const text = this.text(key)
    const otherwise = () => (byDefault === undefined ? undefined : reader(byDefault))
    if (text === undefined && byDefault !== undefined) this.#defaults.set(key, byDefault)
    if (text === undefined || text === '') return otherwise()
    try {
      return reader(text)
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      const shown = isSecret(key) ? 'its value' : JSON.stringify(withoutUser(text))
      this.problems.push(`${key} ${error.message}, not ${shown}`)
      return otherwise()
    }
  }

  /** A required setting. Returns the empty text if it is missing. */
  need(key: string, reader: (text: string) => string): string {
    if (this.text(key) === undefined) this.problems.push(`${key} is missing`)
    return this.read(key, reader) ?? ''
  }

  /** All that have a value, by name; call it when all settings have been read. */
  understood(): readonly UnderstoodSetting[] {
    const found = [...this.#asked].map((name) => this.#understand(name))
    return found
      .filter((setting) => setting !== undefined)
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }

  #understand(name: string): UnderstoodSetting | undefined {
    const secret = this.#secrets.get(name)
    if (secret !== undefined) return { name, value: undefined, source: secret.source }
    const text = this.#plain(name)
    if (text !== undefined) {
      return { name, value: withoutUser(text), source: this.#sourceOf(name) }
    }
    const byDefault = this.#defaults.get(name) ?? ''
    return byDefault === '' ? undefined : { name, value: byDefault, source: DEFAULT }
  }

  #sourceOf(name: string): string {
    return this.#sources[name] ?? 'environment'
  }

  /** `<NAME>` of every identity provider that has a setting, in alphabetical order. */
  providerNames(members: readonly string[]): readonly string[] {
    const pattern = new RegExp(`^IDP_([A-Z0-9]+(?:_[A-Z0-9]+)*?)_(${members.join('|')})$`)
    const settings = this.#given().map((key) => key.replace(/_FILE$/, ''))
    const names = settings.flatMap((key) => pattern.exec(key)?.[1] ?? [])
    return [...new Set(names)].toSorted()
  }

  /** Faults in the names; call it when all settings have been read. */
  judgeNames(providerMembers: readonly string[]): NameFaults {
    return judgeNames(this.#given(), this.#asked, providerMembers)
  }

  /** Whether it names a setting or resembles one; call it when all settings have been read. */
  isMeant(name: string, providerMembers: readonly string[]): boolean {
    const { problems, warnings } = judgeNames([name], this.#asked, providerMembers)
    return this.#asked.has(name) || problems.length + warnings.length > 0
  }

  #secret(key: string): SecretText | undefined {
    const fileKey = `${key}_FILE`
    this.#asked.add(fileKey)
    const [plain, file] = [this.#plain(key), this.#plain(fileKey)]
    const credentials = this.#environment['CREDENTIALS_DIRECTORY']
    if (plain !== undefined && file !== undefined) {
      this.problems.push(`${key} and ${fileKey} are both set: remove one of them`)
    }
    if (plain !== undefined) return { text: plain, source: this.#sourceOf(key) }
    const source = file ?? 'credential'
    try {
      const text = file === undefined ? readCredential(credentials, key) : readSecret(file)
      return text === undefined ? undefined : { text, source }
    } catch (error) {
      if (!(error instanceof SecretFault)) throw error
      this.problems.push(`${file === undefined ? 'the credential' : fileKey} ${error.message}`)
      return { text: '', source }
    }
  }

  #plain(key: string): string | undefined {
    const text = this.#environment[key]?.trim()
    return text === '' ? undefined : text
  }

  #given(): string[] {
    return Object.keys(this.#environment).filter((key) => this.#plain(key) !== undefined)
  }
}

/** A URL's user and password are none of ours, and not for others to read. */
function withoutUser(text: string): string {
  return text.replaceAll(/(:\/\/)[^/?#]*@/g, '$1…@')
}
