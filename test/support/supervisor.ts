// Stands in for systemd: holds the address of a service, is told of its state, and ends and starts
// again what does not say often enough that it is alive.

import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { Environment } from './command.ts'
import { HeldSocket } from './held-socket.ts'
import { leaveOut } from './left-out.ts'
import { until } from './until.ts'

const RECEIVER = fileURLToPath(new URL('notify-socket.py', import.meta.url))

/** Leaves out the suite where what tells and what is told is missing. */
export function needSupervisor(suite: Mocha.Context): void {
  for (const program of ['perl', 'python3'] as const) {
    if (spawnSync(program, ['--version']).error !== undefined) leaveOut(suite, program)
  }
}

export class Supervisor {
  readonly #folder: string
  readonly #watchdogMs: number
  readonly #receiver: ChildProcess
  readonly #held = new HeldSocket()
  /** What it was told, in order. */
  readonly messages: string[] = []
  /** What the service has written to standard error. */
  errors = ''
  /** How often the watchdog has ended the service. */
  ended = 0
  #environment: Environment = {}
  #service: ChildProcess | undefined
  #watchdog: NodeJS.Timeout | undefined

  private constructor(folder: string, watchdogMs: number) {
    this.#folder = folder
    this.#watchdogMs = watchdogMs
    this.#receiver = spawn('python3', [RECEIVER, join(folder, 'notify')])
    createInterface(this.#receiver.stdout!).on('line', (message) => this.#take(message))
  }

  /** @param watchdogMs as `WatchdogSec=` of the unit */
  static async begin(watchdogMs: number): Promise<Supervisor> {
    const folder = await mkdtemp(join(tmpdir(), 'thermolog-supervisor-'))
    const supervisor = new Supervisor(folder, watchdogMs)
    await until('the supervisor listens', () => supervisor.messages.includes('bound'))
    return supervisor
  }

  get url(): string {
    return this.#held.url
  }

  /** Resolves when the service says that it is ready. */
  async start(environment: Environment): Promise<void> {
    this.#environment = environment
    const before = this.#count('READY=1')
    this.#launch()
    await until('the service is ready', () => {
      expect(this.#service?.exitCode, this.errors).to.equal(null)
      return this.#count('READY=1') > before
    })
  }

  /** As `systemctl restart`, perhaps of another version. */
  async restart(environment: Environment): Promise<void> {
    await this.stop()
    await this.start(environment)
  }

  async stop(): Promise<void> {
    const service = this.#service
    if (service === undefined) return
    this.#service = undefined
    this.#unwatch()
    const exited = once(service, 'exit')
    service.kill()
    expect((await exited)[0], this.errors).to.equal(0)
  }

  signal(signal: NodeJS.Signals): void {
    this.#service?.kill(signal)
  }

  async close(): Promise<void> {
    this.#unwatch()
    const service = this.#service
    this.#service = undefined
    service?.kill('SIGKILL')
    this.#receiver.kill()
    this.#held.close()
    await rm(this.#folder, { recursive: true })
  }

  #launch(): void {
    const told = { NOTIFY_SOCKET: join(this.#folder, 'notify') }
    const watched = { WATCHDOG_USEC: String(this.#watchdogMs * 1_000) }
    const service = this.#held.startService({ ...told, ...watched, ...this.#environment })
    this.#service = service
    service.stdout?.resume()
    service.stderr?.on('data', (text) => (this.errors += text))
    service.once('exit', (_code, signal) => {
      if (this.#service === service && signal === 'SIGABRT') this.#launch()
    })
  }

  /** @param line the sender's id and what it says; it counts only if it is the main process */
  #take(line: string): void {
    const [, sender, message = line] = /^(\d+) (.*)$/.exec(line) ?? []
    if (sender !== undefined && Number(sender) !== this.#service?.pid) return
    this.messages.push(message)
    // It watches from the end of a start to the beginning of a stop.
    if (message.startsWith('READY=1 '))
      this.#watchdog = setTimeout(() => this.#end(), this.#watchdogMs)
    else if (message.startsWith('WATCHDOG=1 ')) this.#watchdog?.refresh()
  }

  #end(): void {
    this.#unwatch()
    this.ended++
    this.signal('SIGABRT')
  }

  #unwatch(): void {
    clearTimeout(this.#watchdog)
    this.#watchdog = undefined
  }

  #count(event: string): number {
    return this.messages.filter((message) => message.startsWith(`${event} `)).length
  }
}
