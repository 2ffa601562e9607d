// A real PostgreSQL of a test's own, reached by a Unix socket in a directory of its own, that can
// be stopped, killed and started again on what it has on disk, or on a copy of another one.

import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { until } from './until.ts'

/** Where Debian has a folder for each version. */
const DISTRIBUTION = process.env['POSTGRES_FOLDER'] ?? '/usr/lib/postgresql'

/** Settings at the first start of what is `restored`: it has what was copied, and no more. */
export const AS_COPIED = [
  'restore_command=false',
  'recovery_target=immediate',
  'recovery_target_action=promote',
]

interface Owner {
  readonly uid?: number
  readonly gid?: number
}

/** The folder of the programs: that of PATH, else the newest of the distribution. */
export function postgresPrograms(): string | undefined {
  const onPath = (process.env['PATH'] ?? '').split(':').find((folder) => {
    return existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres'))
  })
  // PATH may have links to some of them.
  if (onPath !== undefined) return dirname(realpathSync(join(onPath, 'postgres')))
  if (!existsSync(DISTRIBUTION)) return undefined
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
    const server = PostgresServer.empty(programs)
    server.#initialize()
    await server.restart()
    return server
  }

  /** One that has nothing yet, and is not started. */
  static empty(programs: string): PostgresServer {
    const server = new PostgresServer(programs)
    const { uid, gid } = server.#owner
    if (uid !== undefined && gid !== undefined) chownSync(server.#directory, uid, gid)
    return server
  }

  /** The host to put into a URL with several. */
  get host(): string {
    return encodeURIComponent(this.#directory)
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
    child.once('exit', () => {
      process.off('exit', endWithUs)
      if (this.#child === child) this.#child = undefined
    })
    await until('PostgreSQL is ready', () => this.#isReady())
  }

  /**
   * Stops it and takes what another one has now, to be started as its standby, or with settings of
   * a recovery, as what is restored: a life of its own.
   */
  async copy(other: PostgresServer, as: 'standby' | 'restored'): Promise<void> {
    await this.stop('SIGQUIT')
    rmSync(this.#data, { recursive: true, force: true })
    const from = ['-h', other.#directory, '-U', 'postgres', '-X', 'stream', '-c', 'fast']
    this.#run('pg_basebackup', ['-D', this.#data, ...from, ...(as === 'standby' ? ['-R'] : [])])
    if (as === 'restored') writeFileSync(join(this.#data, 'recovery.signal'), '')
  }

  /** Makes a standby a primary, and waits until it is. */
  promote(): void {
    this.#run('pg_ctl', ['promote', '-D', this.#data, '-w'])
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

  /** Stops all its processes where they are: it answers nothing, and its connections stay. */
  freeze(): void {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('it does not run')
    // First the one that would start more of them.
    process.kill(pid, 'SIGSTOP')
    for (const child of childrenOf(pid)) signalIfThere(child, 'SIGSTOP')
  }

  thaw(): void {
    const pid = this.#child?.pid
    if (pid === undefined) return
    for (const child of [...childrenOf(pid), pid]) signalIfThere(child, 'SIGCONT')
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
    const flags = ['-D', this.#data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-sync']
    this.#run('initdb', [...flags, '--locale=C'])
  }

  #run(program: string, flags: readonly string[]): void {
    const { status, stderr, error } = spawnSync(join(this.#programs, program), flags, {
      encoding: 'utf8',
      cwd: this.#directory,
      ...this.#owner,
    })
    if (status !== 0) throw new Error(`${program}: ${stderr}`, { cause: error })
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

function childrenOf(parent: number): number[] {
  const text = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
  return text.trim().split(' ').filter(Boolean).map(Number)
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
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
