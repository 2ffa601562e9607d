// The settings as texts: reads each one when it is asked for, and collects all faults.

import { judgeNames } from './config-names.ts'
import type { NameFaults } from './config-names.ts'
import { SecretFault, isSecret, readCredential, readSecret } from './config-secrets.ts'
import { FormError } from './config-values.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** An empty setting counts as absent. */
export class Settings {
  readonly problems: string[] = []
  readonly #environment: Environment
  readonly #asked = new Set<string>()
  readonly #secrets = new Map<string, string | undefined>()

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** Of a secret that is named and cannot be read: the empty text, and its fault is noted. */
  text(key: string): string | undefined {
    this.#asked.add(key)
    if (!isSecret(key)) return this.#plain(key)
    if (!this.#secrets.has(key)) this.#secrets.set(key, this.#secret(key))
    return this.#secrets.get(key)
  }

  read<T, D>(key: string, reader: (text: string) => T, byDefault: D): T | D {
    const text = this.text(key)
    if (text === undefined || text === '') return byDefault
    try {
      return reader(text)
    } catch (error) {
      if (!(error instanceof FormError)) throw error
      const shown = isSecret(key) ? 'its value' : JSON.stringify(text)
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

  #secret(key: string): string | undefined {
    const fileKey = `${key}_FILE`
    this.#asked.add(fileKey)
    const [plain, file] = [this.#plain(key), this.#plain(fileKey)]
    const credentials = this.#environment['CREDENTIALS_DIRECTORY']
    if (plain !== undefined && file !== undefined) {
      this.problems.push(`${key} and ${fileKey} are both set: remove one of them`)
    }
    if (plain !== undefined) return plain
    try {
      if (file !== undefined) return readSecret(file)
      return credentials === undefined ? undefined : readCredential(credentials, key)
    } catch (error) {
      if (!(error instanceof SecretFault)) throw error
      this.problems.push(`${file === undefined ? 'the credential' : fileKey} ${error.message}`)
      return ''
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
