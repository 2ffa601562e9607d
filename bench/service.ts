// The service under measurement: a process of its own on a temporary directory, with no limit of
// requests.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const PROGRAM = fileURLToPath(new URL('../src/thermolog.js', import.meta.url))
/** The user whose daemons send. */
export const OWNER = 'bench@example.org'

const run = promisify(execFile)

export interface MeasuredService {
  readonly port: number
  readonly token: string
  readonly dataDir: string
  /** The most memory it has had, in bytes; NaN where the system does not tell. */
  peakMemoryBytes(): number
  residentBytes(): number
  /** Whether its process has not ended. */
  isAlive(): boolean
  /** Measurements that are acknowledged and not yet in the measurement store. */
  backlog(): Promise<number>
  stop(): Promise<void>
  /** Takes the data away, when it is stopped. */
  remove(): Promise<void>
}

/**
 * @param settings of the environment, over those of a measurement
 * @param from what another, which is stopped, has left
 */
export async function startMeasured(
  settings: Readonly<Record<string, string>> = {},
  from?: { readonly dataDir: string; readonly token: string },
): Promise<MeasuredService> {
  const dataDir = from?.dataDir ?? (await mkdtemp(join(tmpdir(), 'thermolog-bench-')))
  const env = {
    ...process.env,
    DATA_DIR: dataDir,
    PORT: '0',
    LOG_LEVEL: 'info',
    RATE_LIMIT_REQUESTS: '0',
    RATE_LIMIT_MEASUREMENTS: '0',
    ...settings,
  }
  const token = from?.token ?? (await createToken(env))
  const child = spawn(process.execPath, [PROGRAM, 'serve'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = await readPort(createInterface(child.stdout))
  child.stdout.resume()
  const memory = (key: string) => readMemory(child.pid ?? 0, key)
  return {
    port,
    token,
    dataDir,
    peakMemoryBytes: () => memory('VmHWM'),
    residentBytes: () => memory('VmRSS'),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    backlog: async () => {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`)
      return ((await response.json()) as { backlog: { entries: number } }).backlog.entries
    },
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
    remove: () => rm(dataDir, { recursive: true }),
  }
}

/** Has a batch accepted. */
export async function sendBatch(
  { port, token }: Pick<MeasuredService, 'port' | 'token'>,
  measurements: readonly object[],
): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/measurements/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ measurements }),
  })
  if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`)
  await response.arrayBuffer()
}

async function createToken(env: NodeJS.ProcessEnv): Promise<string> {
  await run(process.execPath, [PROGRAM, 'user', 'create', '--email', OWNER], { env })
  const order = ['token', 'create', '--user', OWNER, '--name', 'bench']
  const { stdout } = await run(process.execPath, [PROGRAM, ...order], { env })
  return stdout.trim()
}

async function readPort(lines: AsyncIterable<string>): Promise<number> {
  for await (const line of lines) {
    const { url } = JSON.parse(line) as { url?: string }
    if (url !== undefined) return Number(new URL(url).port)
  }
  throw new Error('the service did not start')
}

function readMemory(pid: number, key: string): number {
  if (process.platform !== 'linux') return NaN
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${key}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
}
