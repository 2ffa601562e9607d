// The real command on a data directory of its own: in this process, or as one of its own.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { expect } from 'chai'
import { main } from '../../src/cli/main.ts'
import { createService } from '../../src/compose.ts'
import { loadConfig } from '../../src/config.ts'
import { closeKept } from './http.ts'
import { startInline } from './inline-threads.ts'
import { RecordingLog } from './log.ts'

const COMMAND = fileURLToPath(new URL('../../src/thermolog.js', import.meta.url))
const NOTIFY_OPENER = fileURLToPath(new URL('../../bin/with-notify-socket.pl', import.meta.url))
const { V8_FLAGS = '', ...MEMORY } = parseEnv(
  readFileSync(new URL('../../src/memory.env', import.meta.url), 'utf8'),
) as Record<string, string>

export interface CommandResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** `PROGRAM`: the `thermolog.js` of another version, instead of this one's. */
export type Environment = Readonly<Record<string, string>>

/**
 * Runs a command to its end, in this process; that of another version as a process.
 *
 * @param input what it finds on standard input
 */
export async function runCommand(
  dataDir: string,
  args: readonly string[],
  settings: Environment = {},
  input = '',
): Promise<CommandResult> {
  if (settings['PROGRAM'] !== undefined) return runProcess(dataDir, args, settings, input)
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const said = Promise.all([text(stdout), text(stderr)])
  const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)])
  const exitCode = await main(args, {
    stdin,
    stdout,
    stderr,
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, ...settings },
    startThread: startInline,
  })
  stdout.end()
  stderr.end()
  const [printed, noted] = await said
  return { exitCode, stdout: printed, stderr: noted }
}

/** Runs `thermolog` to its end, as a process. @param input what it finds on standard input */
export async function runProcess(
  dataDir: string,
  args: readonly string[],
  environment: Environment = {},
  input = '',
): Promise<CommandResult> {
  const child = startCommand(dataDir, args, environment)
  child.stdin.end(input)
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  return { exitCode: exitCode ?? -1, stdout, stderr }
}

export interface RunningService {
  readonly url: string
  readonly child: ChildProcess
  /** The lines that it logged until it was ready. */
  readonly logged: readonly string[]
  /** Asks it to stop, or kills it, and waits for its end. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

/** Runs `thermolog serve` on a free port until it says that it is ready; as bin/thermolog does. */
export async function serve(
  dataDir: string,
  environment: Environment = {},
): Promise<RunningService> {
  const settings = { PORT: '0', LOG_LEVEL: 'info', ...MEMORY, ...environment }
  const child = startCommand(dataDir, ['serve'], settings, V8_FLAGS.split(' '))
  const errors = text(child.stderr)
  const exited = once(child, 'exit') as Promise<[number | null]>
  const stop = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') => {
    closeKept()
    child.kill(signal)
    const [exitCode] = await exited
    return exitCode
  }
  const logged: string[] = []
  for await (const line of createInterface(child.stdout)) {
    logged.push(line)
    const event = JSON.parse(line) as { readonly message: string; readonly url?: string }
    if (event.message === 'ready') {
      // What it logs from here on is read and dropped, so that it never waits for a reader.
      child.stdout.resume()
      return { url: event.url ?? '', child, logged, stop }
    }
  }
  throw new Error(`the service ended before it was ready:\n${logged.join('\n')}\n${await errors}`)
}

/** Runs `thermolog serve` for one piece of work, and has it stop as it should. */
export async function serving<Result>(
  dataDir: string,
  settings: Environment,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  const service = await serve(dataDir, settings)
  try {
    return await work(service.url)
  } finally {
    expect(await service.stop()).to.equal(0)
  }
}

export interface ServiceHere {
  readonly url: string
  stop(): Promise<void>
}

/** Runs the service in this process, by the system's clock. */
export async function serveHere(dataDir: string, settings: Environment = {}): Promise<ServiceHere> {
  const config = loadConfig({ PORT: '0', DATA_DIR: dataDir, ...settings })
  const service = await createService(config, { log: new RecordingLog(), startThread: startInline })
  const { url } = await service.start()
  const stop = () => {
    closeKept()
    return service.stop()
  }
  return { url, stop }
}

/** Runs the service in this process for one piece of work. */
export async function servingHere<Result>(
  dataDir: string,
  settings: Environment,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  const service = await serveHere(dataDir, settings)
  try {
    return await work(service.url)
  } finally {
    await service.stop()
  }
}

/** Node, started as bin/thermolog starts it where systemd wants to be told. */
export function programFor({ NOTIFY_SOCKET }: Environment): readonly string[] {
  const opener = NOTIFY_SOCKET === undefined ? [] : ['perl', NOTIFY_OPENER]
  return [...opener, process.execPath]
}

/** Starts `thermolog` and leaves it to the caller. @param flags of Node */
export function startCommand(
  dataDir: string,
  args: readonly string[],
  environment: Environment,
  flags: readonly string[] = [],
) {
  const { PROGRAM = COMMAND, ...settings } = environment
  const order = [...programFor(environment), ...flags, PROGRAM, ...args]
  return spawn(order[0] ?? '', order.slice(1), {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, ...settings },
    stdio: 'pipe',
  })
}
