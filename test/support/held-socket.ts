// A socket that outlives the service, as systemd holds one for it.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import net from 'node:net'
import { fileURLToPath } from 'node:url'
import { programFor } from './command.ts'
import type { Environment } from './command.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/thermolog', import.meta.url))
/** `$$` is the process that the launcher and Node become. */
const HAND_OVER = 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@" serve'

/** What Node's cluster hands to its workers: bound, and not listening before one of them does. */
interface BoundSocket {
  readonly fd: number
  getsockname(name: { port?: number }): number
  close(): void
}

const { _createServerHandle: bind } = net as unknown as {
  _createServerHandle(address: string, port: number, family: 4): BoundSocket
}

export class HeldSocket {
  readonly #socket = bind('127.0.0.1', 0, 4)

  get url(): string {
    const name: { port?: number } = {}
    this.#socket.getsockname(name)
    return `http://127.0.0.1:${name.port}`
  }

  /** Starts `thermolog serve` with the socket. */
  startService(environment: Environment): ChildProcess {
    const { PROGRAM, ...settings } = environment
    const command = PROGRAM === undefined ? [LAUNCHER] : [...programFor(settings), PROGRAM]
    return spawn('/bin/sh', ['-c', HAND_OVER, 'sh', ...command], {
      env: { PATH: process.env['PATH'], ...settings },
      stdio: ['ignore', 'pipe', 'pipe', this.#socket.fd],
    })
  }

  close(): void {
    this.#socket.close()
  }
}
