// A real PostgreSQL of a test's own, reached by a Unix socket in a directory of its own, that can
// be stopped, killed and started again on what it has on disk.

import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'

const DISTRIBUTION = '/usr/lib/postgresql'
const READY_MS_MAX = 30_000
const POLL_MS = 20

interface Owner {
  readonly uid?: number
  readonly gid?: number
}

/** The folder of the programs: that of PATH, else the newest of the distribution. */
export function postgresPrograms(): string | undefined {
  const onPath = (process.env['PATH'] ?? '').split(':').find((folder) => {
    return existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres'))
  })
  if (onPath !== undefined || !existsSync(DISTRIBUTION)) return onPath
  const versions = readdirSync(DISTRIBUTION).toSorted((a, b) => Number(b) - Number(a))
  const folders = versions.map((version) => join(DISTRIBUTION, version, 'bin'))
  return folders.find((folder) => existsSync(join(folder, 'initdb')))
}

export class PostgresServer {
  readonly #programs: string
  readonly #directory = mkdtempSync(join(tmpdir(), 'thermolog-postgres-'))
  readonly #owner = unprivileged()
  #child: ChildProcess | undefined

  private constructor(programs: string) {
    this.#programs = programs
  }

  /** @param programs the folder of initdb and postgres */
  static async start(programs: string): Promise<PostgresServer> {
    const server = new PostgresServer(programs)
    server.#initialize()
    await server.restart()
    return server
  }

  /** Of a database on it. */
  url(database = 'postgres'): string {
    return `postgresql:///${database}?host=${this.#directory}&user=postgres`
  }

  /** Starts it again on the same address and data, after a stop or while it runs. */
  async restart(settings: readonly string[] = []): Promise<void> {
    await this.stop('SIGINT')
    const flags = ['-D', this.#data, '-k', this.#directory, '-c', 'listen_addresses=']
    for (const setting of settings) flags.push('-c', setting)
    const program = join(this.#programs, 'postgres')
    const child = spawn(program, flags, { stdio: 'ignore', ...this.#owner })
    this.#child = child
    const endWithUs = () => {
      child.kill('SIGQUIT')
      rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 })
    }
    process.once('exit', endWithUs)
    child.once('exit', () => process.off('exit', endWithUs))
    const deadlineMs = performance.now() + READY_MS_MAX
    while (!(await this.#isReady())) {
      if (performance.now() > deadlineMs) throw new Error('PostgreSQL does not start')
      await setTimeout(POLL_MS)
    }
  }

  /** @param signal `SIGINT`: cuts connections; `SIGQUIT`: at once, as a crash */
  async stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  /** Ends it and removes what it had. */
  async remove(): Promise<void> {
    await this.stop('SIGQUIT')
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 })
  }

  get #data(): string {
    return join(this.#directory, 'data')
  }

  #initialize(): void {
    const { uid, gid } = this.#owner
    if (uid !== undefined && gid !== undefined) chownSync(this.#directory, uid, gid)
    const flags = ['-D', this.#data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-sync']
    const program = join(this.#programs, 'initdb')
    const { status, stderr } = spawnSync(program, [...flags, '--locale=C'], {
      encoding: 'utf8',
      cwd: this.#directory,
      ...this.#owner,
    })
    if (status !== 0) throw new Error(`initdb: ${stderr}`)
  }

  async #isReady(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.url() })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.end()
      return true
    } catch {
      return false
    }
  }
}

/** PostgreSQL refuses to run as root. */
function unprivileged(): Owner {
  if (process.getuid?.() !== 0) return {}
  const users = new Map<string | undefined, Owner>()
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , uid, gid] = line.split(':')
    users.set(name, { uid: Number(uid), gid: Number(gid) })
  }
  return users.get('postgres') ?? users.get('nobody') ?? {}
}
