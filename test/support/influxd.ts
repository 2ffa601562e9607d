// A real influxd of a test's own, on a free port and in a directory of its own, that can be paused,
// killed and started again on what it has on disk.

import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

/** Where a test finds InfluxDB; the token may do everything in the organization. */
export interface TestInflux {
  readonly url: string
  readonly organization: string
  readonly influxToken: string
}

/** Whether there is a command `influxd`. */
export function hasInfluxd(): boolean {
  return spawnSync('influxd', ['version'], { stdio: 'ignore' }).status === 0
}

export class InfluxServer implements TestInflux {
  readonly url: string
  readonly organization = 'test-organization'
  readonly influxToken = 'test-token-of-all-rights'
  readonly #directory = mkdtempSync(join(tmpdir(), 'thermolog-influxd-'))
  readonly #settings: readonly string[]
  #child: ChildProcess | undefined

  private constructor(port: number, settings: readonly string[]) {
    this.url = `http://127.0.0.1:${port}`
    this.#settings = settings
  }

  /** @param settings more flags of influxd */
  static async start(settings: readonly string[] = []): Promise<InfluxServer> {
    const server = await InfluxServer.startEmpty(settings)
    await server.#setUp()
    return server
  }

  /** One that nobody has set up: it has no organization, and the token is not known to it. */
  static async startEmpty(settings: readonly string[] = []): Promise<InfluxServer> {
    const server = new InfluxServer(await freePort(), settings)
    await server.restart()
    return server
  }

  /** Starts it again on the same address and data, after `kill` or while it runs. */
  async restart(): Promise<void> {
    if (this.#child !== undefined) await this.kill()
    const { host } = new URL(this.url)
    const flags = [
      '--reporting-disabled',
      '--log-level=error',
      `--http-bind-address=${host}`,
      `--bolt-path=${join(this.#directory, 'influxd.bolt')}`,
      `--sqlite-path=${join(this.#directory, 'influxd.sqlite')}`,
      `--engine-path=${join(this.#directory, 'engine')}`,
      ...this.#settings,
    ]
    const child = spawn('influxd', flags, { stdio: 'ignore' })
    this.#child = child
    const killWithUs = () => {
      child.kill('SIGKILL')
      rmSync(this.#directory, { recursive: true, force: true, maxRetries: 3 })
    }
    process.once('exit', killWithUs)
    child.once('exit', () => process.off('exit', killWithUs))
    await until('influxd is ready', async () => {
      if (child.exitCode !== null) throw new Error(`influxd has ended: ${child.exitCode}`)
      // Newer ones say that they are healthy before they take any other call.
      return (await this.#takes('health')) && this.#takes('api/v2/setup')
    })
  }

  /** Ends it at once, as a power cut of its process. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined) return
    const exited = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill('SIGKILL')
    await exited
  }

  /** It takes connections and answers nothing until `resume`. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  /** Whether it is writing a part of its cache to disk at this moment. */
  isSnapshotRunning(): boolean {
    const data = join(this.#directory, 'engine', 'data')
    return readdirSync(data, { recursive: true }).some((file) => String(file).endsWith('.tsm.tmp'))
  }

  /** Ends it and removes what it had. */
  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.#directory, { recursive: true, maxRetries: 3 })
  }

  async #takes(path: string): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/${path}`)).status === 200
    } catch (error) {
      if (error instanceof TypeError) return false
      throw error
    }
  }

  async #setUp(): Promise<void> {
    const body = JSON.stringify({
      username: 'test',
      password: 'test-password',
      org: this.organization,
      bucket: 'unused',
      token: this.influxToken,
      retentionPeriodSeconds: 0,
    })
    const answer = await fetch(`${this.url}/api/v2/setup`, { method: 'POST', body })
    if (answer.status !== 201) throw new Error(`influxd: set-up failed: ${await answer.text()}`)
  }
}
