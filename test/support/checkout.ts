// A checkout of a test's own, in which commands run as somebody types them who has cloned it and
// run `npm ci`: with the programs of the machine, not with those that `npm test` puts on PATH.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from './free-port.ts'
import { until, within } from './until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NOT_CLONED = new Set(['node_modules', '.git', 'data', 'demo-data', 'dist', 'coverage'])
const COMMANDS_MS_MAX = 120_000
const START_MS_MAX = 60_000

/** What a test adds to the environment of somebody's shell. */
type Additions = Readonly<Record<string, string>>

export class Checkout {
  readonly folder: string
  /** Where its service or its demo listens; the one after it is the demo's as well. */
  #port = 0
  #service: Typed | undefined

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(): Promise<Checkout> {
    const folder = await mkdtemp(join(tmpdir(), 'thermolog-checkout-'))
    const isCloned = (path: string) => !NOT_CLONED.has(relative(ROOT, path))
    await cp(ROOT, folder, { recursive: true, filter: isCloned })
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    return new Checkout(folder)
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Types commands. To be ended by who asked for them. */
  type(commands: string, additions: Additions = {}): Typed {
    const environment = {
      ...environmentOfShell(),
      PORT: String(this.#port),
      CURL_HOME: this.folder,
      ...additions,
    }
    return new Typed(commands, this.folder, environment)
  }

  /** Gives what listens next ports of its own: others may have taken the ones before. */
  async changePorts(): Promise<void> {
    this.#port = await firstOfTwoPorts()
    await writeFile(join(this.folder, '.curlrc'), this.#curlSettings())
  }

  /** Starts the service, or does nothing if it is running. */
  async startService(): Promise<void> {
    if (this.#service !== undefined) return
    await this.changePorts()
    const service = this.type('npm start')
    this.#service = service
    await service.until('the service is ready', () => service.output.includes('"ready"'))
  }

  /** Stops the service, or does nothing if it is not running. */
  async stopService(): Promise<void> {
    const service = this.#service
    this.#service = undefined
    await service?.interrupt()
  }

  async remove(): Promise<void> {
    await this.stopService()
    await rm(this.folder, { recursive: true })
  }

  /** What is typed for the usual port reaches the service here, and a refusal is a failure. */
  #curlSettings(): string {
    return `connect-to = "127.0.0.1:8080:127.0.0.1:${this.#port}"\nfail\nshow-error\n`
  }
}

/** Commands that a shell runs as they were pasted, up to the first that fails. */
export class Typed {
  readonly #shell: ChildProcess
  readonly #closed: Promise<unknown>
  /** Standard output and standard error. */
  output = ''

  constructor(commands: string, folder: string, environment: NodeJS.ProcessEnv) {
    // A group of its own: as at a terminal, an interrupt reaches all that the commands started.
    const shell = spawn('sh', ['-eu', '-c', commands], {
      cwd: folder,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [shell.stdout, shell.stderr]) {
      stream.on('data', (piece) => (this.output += String(piece)))
    }
    this.#shell = shell
    this.#closed = once(shell, 'close')
  }

  /** @throws Error with all output, if the commands fail */
  async toItsEnd(): Promise<void> {
    try {
      await within('the commands end', this.#closed, COMMANDS_MS_MAX)
    } finally {
      this.#signal('SIGKILL')
    }
    if (this.#shell.exitCode !== 0) throw this.#failure('failed')
  }

  /** Waits for something that shows that the commands work, which do not end by themselves. */
  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const hasEnded = () => this.#shell.exitCode !== null || this.#shell.signalCode !== null
    try {
      await until(what, async () => hasEnded() || (await isSo()), START_MS_MAX)
    } catch (error) {
      this.#signal('SIGKILL')
      throw this.#failure('hung', error)
    }
    if (hasEnded()) throw this.#failure('ended')
  }

  /** Does what Ctrl-C does, and waits until everything has ended. */
  async interrupt(): Promise<void> {
    this.#signal('SIGINT')
    try {
      await within('the commands end when interrupted', this.#closed)
    } finally {
      this.#signal('SIGKILL')
    }
  }

  #signal(signal: 'SIGINT' | 'SIGKILL'): void {
    const { pid } = this.#shell
    if (pid === undefined) return
    try {
      process.kill(-pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }

  #failure(how: string, cause?: unknown): Error {
    const { exitCode, spawnargs } = this.#shell
    const message = `exit code ${exitCode}: ${spawnargs.at(-1)}\n${how} with\n${this.output}`
    return new Error(message, { cause })
  }
}

/** Whether somebody who types the name of this program finds it. */
export function isOnPath(program: string): boolean {
  return pathOfShell().some((folder) => existsSync(join(folder, program)))
}

function environmentOfShell(): NodeJS.ProcessEnv {
  const { HOME, LANG, TMPDIR, USER } = process.env
  return { HOME, LANG, TMPDIR, USER, PATH: pathOfShell().join(delimiter) }
}

/** The folders of PATH, without what `npm test` and npm itself have put there. */
export function pathOfShell(): string[] {
  const isOfNpm = (folder: string) =>
    folder === join(ROOT, 'bin') ||
    folder.endsWith(join('node_modules', '.bin')) ||
    dirname(folder).endsWith(join('@npmcli', 'run-script', 'lib'))
  return (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !isOfNpm(folder))
}

async function firstOfTwoPorts(): Promise<number> {
  const first = await freePort()
  return (await freePort()) === first + 1 ? first : firstOfTwoPorts()
}
