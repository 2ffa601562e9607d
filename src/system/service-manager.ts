// What systemd is told of the service (sd_notify): what it is doing, and that its event loop turns.
//
// The protocol wants a datagram socket, which Node does not have; packages that add one are
// compiled where they are installed, or bring a whole foreign-function interface. So systemd's own
// program sends the messages. A small shell starts it, so that the service does not fork for each:
// it only writes a line into a pipe.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Writable } from 'node:stream'
import { SECOND_MS } from '../domain/time.ts'

/** It ends with its pipe, not by the signals that end the service. */
const SHELL = `
trap '' INT TERM
if ! command -v systemd-notify >/dev/null; then
  echo 'thermolog: systemd-notify is missing, so systemd is not told of the state' >&2
  exec cat >/dev/null
fi
while IFS='|' read -r event status; do
  systemd-notify "$event" "STATUS=$status"
done
`
const SAY_EVERY_MS_MAX = 10 * SECOND_MS
/** A start may go on for this long after it last said so. */
const STARTING_MS = 60 * SECOND_MS

export interface ServiceManagerSettings {
  /** The service is ended when it has not said for so long that it is alive; 0: it need not. */
  readonly watchdogMs: number
}

export class ServiceManager {
  readonly #settings: ServiceManagerSettings | undefined
  #shell: ChildProcess | undefined
  #timer: NodeJS.Timeout | undefined

  /** @param settings `undefined`: nobody wants to be told */
  constructor(settings: ServiceManagerSettings | undefined) {
    this.#settings = settings
  }

  /** The service starts, however long that takes. */
  noteStarting(): void {
    const event = `EXTEND_TIMEOUT_USEC=${STARTING_MS * 1_000}`
    this.#say(event, 'starting: reading the journal')
    this.#sayAgain(() => this.#say(event, 'starting: reading the journal'), SAY_EVERY_MS_MAX)
  }

  /** @param describe what the service does now, in one line */
  noteReady(describe: () => string): void {
    this.#sayAlive('READY=1', describe)
  }

  noteStopping(): void {
    this.#sayAlive('STOPPING=1', () => 'stopping: finishing requests under way')
  }

  /** Says what has begun, and then that the event loop turns. */
  #sayAlive(event: string, describe: () => string): void {
    const { watchdogMs = 0 } = this.#settings ?? {}
    this.#say(event, describe())
    // One lost message must not end the service.
    const everyMs = watchdogMs === 0 ? SAY_EVERY_MS_MAX : watchdogMs / 3
    const alive = () => this.#say('WATCHDOG=1', describe())
    this.#sayAgain(alive, Math.min(everyMs, SAY_EVERY_MS_MAX))
  }

  #sayAgain(say: () => void, everyMs: number): void {
    clearInterval(this.#timer)
    if (this.#settings === undefined) return
    this.#timer = setInterval(say, everyMs).unref()
  }

  #say(event: string, status: string): void {
    if (this.#settings === undefined) return
    this.#shell ??= this.#startShell()
    this.#shell.stdin?.write(`${event}|${status}\n`)
  }

  /** The process does not wait for it. If it ends, the next message starts another one. */
  #startShell(): ChildProcess {
    const shell = spawn('/bin/sh', ['-c', SHELL], { stdio: ['pipe', 'ignore', 'inherit'] })
    const forget = () => {
      if (this.#shell === shell) this.#shell = undefined
    }
    shell.on('error', forget).on('exit', forget).unref()
    const stdin = shell.stdin as Writable & { unref(): void }
    stdin.on('error', forget)
    stdin.unref()
    return shell
  }
}
