// The daemons of examples/daemon/ as processes of their own: fed with readings line by line, each
// line confirmed when it is safe, and killed.

import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { leaveOut } from './left-out.ts'
import { until, within } from './until.ts'

const FULL_MS_MAX = 120_000
const FINISHED_MS_MAX = 120_000

export interface DaemonKind {
  readonly name: string
  readonly command: readonly string[]
  /** Programs without which it does not run. */
  readonly needs: readonly ('curl' | 'awk' | 'python3')[]
}

const pathOf = (file: string) =>
  fileURLToPath(new URL(`../../examples/daemon/${file}`, import.meta.url))

export const DAEMONS: readonly DaemonKind[] = [
  { name: 'send.sh', command: ['sh', pathOf('send.sh')], needs: ['curl', 'awk'] },
  { name: 'send.py', command: ['python3', pathOf('send.py')], needs: ['python3'] },
  { name: 'send.ts', command: [process.execPath, pathOf('send.ts')], needs: [] },
]

/** Leaves out the test where a program is missing. */
export function needPrograms(test: Mocha.Context, { needs }: DaemonKind): void {
  const missing = needs.find((program) => spawnSync(program, ['--version']).error !== undefined)
  if (missing !== undefined) leaveOut(test, missing)
}

export interface DaemonPlace {
  readonly url: string
  readonly token: string
  readonly spool: string
  readonly settings?: Readonly<Record<string, string>>
}

export class Daemon {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>
  readonly #exited: Promise<unknown>
  /** It has ended, and `errors` has all that it said. */
  readonly #closed: Promise<unknown>
  errors = ''

  constructor({ command: [program = '', ...args] }: DaemonKind, place: DaemonPlace) {
    this.#child = spawn(program, args, {
      // A group of its own: what it has started is killed with it, as by a power cut.
      detached: true,
      env: {
        PATH: process.env['PATH'],
        THERMOLOG_URL: place.url,
        THERMOLOG_TOKEN: place.token,
        SPOOL: place.spool,
        RETRY_SECONDS_MAX: '0.1',
        ...place.settings,
      },
    })
    this.#exited = once(this.#child, 'exit')
    this.#closed = once(this.#child, 'close')
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.errors += text))
    // It may be killed while a line is written to it.
    this.#child.stdin.on('error', () => undefined)
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]()
  }

  /** @returns whether it said that the reading is safe, before it was killed */
  async give(sn: string, temp: number, time?: string): Promise<boolean> {
    this.put(sn, temp, time)
    return this.confirmed()
  }

  /** @returns whether it said that one more reading is safe, before it ended */
  async confirmed(): Promise<boolean> {
    const { done } = await this.#lines.next()
    return done !== true
  }

  /** Gives it a reading without waiting for what it says. */
  put(sn: string, temp: number, time = ''): void {
    this.#child.stdin.write(`${sn} ${temp} ${time}\n`)
  }

  /** Gives it the temperatures 1, 2, … until there is no room. @returns how many it has taken */
  async giveUntilLost(sn: string): Promise<number> {
    let kept = 0
    const lost = this.#untilLost()
    while (await Promise.race([this.give(sn, kept + 1), lost])) kept++
    return kept
  }

  async #untilLost(): Promise<false> {
    await until('there is no room', () => this.errors.includes('no room'), FULL_MS_MAX)
    return false
  }

  /** @throws Error when it has ended by itself */
  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#child
    if (exitCode !== null || signalCode !== null) throw new Error(`it has ended: ${this.errors}`)
    process.kill(-(this.#child.pid ?? 0), 'SIGKILL')
    await this.#exited
  }

  /** Ends its input. @returns its exit code when all it had to send is decided */
  async finish(msMax = FINISHED_MS_MAX): Promise<number | null> {
    this.#child.stdin.end()
    await within('the daemon ends', this.#closed, msMax)
    return this.#child.exitCode
  }
}
