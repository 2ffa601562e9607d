// A real PostgreSQL of a test's own, reached by a Unix socket in a directory of its own, or by a
// port, that can be stopped, killed and started again on what it has on disk, or on a copy of
// another one.

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
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { processorMsOf } from './processor-time.ts'
import { until } from './until.ts'

/** Where Debian has a folder for each version. */
const DISTRIBUTION = process.env['POSTGRES_FOLDER'] ?? '/usr/lib/postgresql'

/** In the name of a socket, where there is no port. */
const PORT = 5432

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

/**
 * The folder of the programs: that of PATH, else the newest of the distribution.
 *
 * @param isFit whether a folder with them has all that is wanted
 */
export function postgresPrograms(isFit = (_programs: string) => true): string | undefined {
  const onPath = (process.env['PATH'] ?? '').split(':').filter((folder) => {
    return existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres'))
  })
  // PATH may have links to some of them.
  const linked = onPath.map((folder) => dirname(realpathSync(join(folder, 'postgres'))))
  return [...linked, ...foldersOfDistribution()].find(isFit)
}

function foldersOfDistribution(): string[] {
  if (!existsSync(DISTRIBUTION)) return []
  const versions = readdirSync(DISTRIBUTION).toSorted((a, b) => Number(b) - Number(a))
  const folders = versions.map((version) => join(DISTRIBUTION, version, 'bin'))
  return folders.filter((folder) => existsSync(join(folder, 'initdb')))
}

/** What a server has beyond a socket. */
export interface ServerSettings {
  /** On loopback; without one there is only the socket. */
  readonly port?: number
  /** Each as `name=value`, at every start. */
  readonly always?: readonly string[]
}

export class PostgresServer {
  readonly #programs: string
  readonly #directory = mkdtempSync(join(tmpdir(), 'thermolog-postgres-'))
  readonly #owner = unprivileged()
  readonly #port: number | undefined
  readonly #always: readonly string[]
  #child: ChildProcess | undefined

  private constructor(programs: string, { port, always = [] }: ServerSettings) {
    this.#programs = programs
    this.#port = port
    this.#always = always
  }

  /** @param programs the folder of initdb and postgres */
  static async start(programs: string, settings?: ServerSettings): Promise<PostgresServer> {
    const server = PostgresServer.empty(programs, settings)
    server.#initialize()
    await server.restart()
    return server
  }

  /** One that has nothing yet, and is not started. */
  static empty(programs: string, settings: ServerSettings = {}): PostgresServer {
    const server = new PostgresServer(programs, settings)
    const { uid, gid } = server.#owner
    if (uid !== undefined && gid !== undefined) chownSync(server.#directory, uid, gid)
    return server
  }

  /** Of its address, or in the name of its socket. */
  get port(): number {
    return this.#port ?? PORT
  }

  /** The host to put into a URL with several. */
  get host(): string {
    return encodeURIComponent(this.#directory)
  }

  /** Of a database on it. */
  url(database = 'postgres'): string {
    return this.#port === undefined
      ? `postgresql:///${database}?host=${this.#directory}&user=postgres`
      : `postgresql://postgres@127.0.0.1:${this.#port}/${database}`
  }

  /** While it runs. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Starts it again on the same address and data, after a stop or while it runs. */
  async restart(settings: readonly string[] = []): Promise<void> {
    await this.stop('SIGINT')
    const address =
      this.#port === undefined
        ? ['listen_addresses=']
        : ['listen_addresses=127.0.0.1', `port=${this.#port}`]
    const flags = ['-D', this.#data, '-k', this.#directory]
    for (const one of [...address, ...this.#always, ...settings]) flags.push('-c', one)
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
    const address = ['-h', other.#directory, '-p', String(other.port)]
    const from = [...address, '-U', 'postgres', '-X', 'stream', '-c', 'fast']
    this.#run('pg_basebackup', ['-D', this.#data, ...from, ...(as === 'standby' ? ['-R'] : [])])
    if (as === 'restored') writeFileSync(join(this.#data, 'recovery.signal'), '')
  }

  /** Takes what is left of the log of one that does not run any more. */
  takeLog(lost: PostgresServer): void {
    const [own, left] = [join(this.#data, 'pg_wal'), join(lost.#data, 'pg_wal')]
    rmSync(own, { recursive: true })
    renameSync(left, own)
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

  /** Ends it and the processes of its connections as `kill -9` does. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child?.pid === undefined) return
    const exited = once(child, 'exit')
    // Stopped, it starts no more of them.
    child.kill('SIGSTOP')
    const children = childrenOf(child.pid)
    child.kill('SIGKILL')
    for (const pid of children) signalIfThere(pid, 'SIGKILL')
    await exited
    // The next one refuses the shared memory of any that is still there.
    await until('all its processes are gone', () => {
      return !children.some((pid) => existsSync(`/proc/${pid}`))
    })
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

  /** What all its processes have taken since its start, by the hundredth of a second. */
  processorMs(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('it does not run')
    const running = childrenOf(pid).map((child) => processorMsOf(child).ownMs)
    const { ownMs, endedChildrenMs } = processorMsOf(pid)
    return running.reduce((sum, ms) => sum + ms, ownMs + endedChildrenMs)
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
