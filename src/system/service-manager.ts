// What systemd is told of the service (sd_notify): what it is doing, and that its event loop turns.
//
// The protocol wants a datagram socket, which Node cannot open: `bin/thermolog` opens it
// (with-notify-socket.pl). To write into it is to send.

import { writeSync } from 'node:fs'
import { SECOND_MS } from '../domain/time.ts'

const SAY_EVERY_MS_MAX = 10 * SECOND_MS
/** A start may go on for this long after it last said so. */
const STARTING_MS = 60 * SECOND_MS

export interface ServiceManagerSettings {
  /** A connected datagram socket that does not block. */
  readonly socketFd: number
  /** The service is ended when it has not said for so long that it is alive; 0: it need not. */
  readonly watchdogMs: number
}

export class ServiceManager {
  readonly #settings: ServiceManagerSettings | undefined
  #timer: NodeJS.Timeout | undefined

  /** @param settings `undefined`: nobody wants to be told */
  constructor(settings: ServiceManagerSettings | undefined) {
    this.#settings = settings
  }

  /** The service starts, however long that takes. */
  noteStarting(): void {
    const event = `EXTEND_TIMEOUT_USEC=${STARTING_MS * 1_000}`
    const say = () => this.#say(event, 'starting: reading the journal')
    say()
    this.#sayAgain(say, SAY_EVERY_MS_MAX)
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

  /** What is not sent is made up for by the next one. */
  #say(event: string, status: string): void {
    if (this.#settings === undefined) return
    try {
      writeSync(this.#settings.socketFd, `${event}\nSTATUS=${status}`)
    } catch {
      // systemd is busy, has gone, or may not be told.
    }
  }
}
