// The secrets of the compose files, each a file in the volume of the container that needs it. A
// file is either complete and durable or missing: a power cut must not leave a database with
// a password that nobody has. An empty file counts as missing.

import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const OWNER_ONLY = 0o600
/** Grafana, Prometheus and PostgreSQL run as other users; the volumes belong to them. */
const ALL_MAY_READ = 0o644

/** Every file, with its mode. */
const FILES = {
  'influxdb/admin-password': OWNER_ONLY,
  'influxdb/admin-token': OWNER_ONLY,
  'thermolog/.env': OWNER_ONLY,
  'grafana/admin-password': ALL_MAY_READ,
  'grafana/influx-read-token': ALL_MAY_READ,
  'grafana/thermolog-token': ALL_MAY_READ,
  'prometheus/metrics-token': ALL_MAY_READ,
  'postgres/password': ALL_MAY_READ,
} satisfies Record<string, number>

export type SecretFile = keyof typeof FILES

export class SecretFiles {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** @returns the content of the file without surrounding space; `undefined` if there is none */
  async read(file: SecretFile): Promise<string | undefined> {
    try {
      const text = await readFile(join(this.#directory, file), 'utf8')
      return text.trim() === '' ? undefined : text.trim()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /** @returns the secret in this file, created first if missing */
  async readOrMake(file: SecretFile): Promise<string> {
    const kept = await this.read(file)
    if (kept !== undefined) return kept
    const secret = randomBytes(32).toString('base64url')
    await this.write(file, secret)
    return secret
  }

  /** The file is on disk when this returns; until then it is unchanged. */
  async write(file: SecretFile, text: string): Promise<void> {
    const path = join(this.#directory, file)
    const unfinished = `${path}.unfinished`
    await mkdir(dirname(path), { recursive: true })
    await writeFile(unfinished, text, { mode: OWNER_ONLY, flush: true })
    // Whatever the umask is.
    await chmod(unfinished, FILES[file])
    await rename(unfinished, path)
    const folder = await open(dirname(path))
    await folder.sync()
    await folder.close()
  }

  async missing(files: readonly SecretFile[]): Promise<SecretFile[]> {
    const found = await Promise.all(files.map((file) => this.read(file)))
    return files.filter((_, at) => found[at] === undefined)
  }
}
