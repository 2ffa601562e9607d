// A port for what has to know its own before it starts.

import { once } from 'node:events'
import { createServer } from 'node:net'

// Each of mocha's jobs has a range of its own, below what systems give to connections, and each
// port is given once: nothing takes one between this look and its use.
const FIRST_PORT = 20_000
const PORTS_PER_JOB = 500
const JOBS = 20
const job = Number(process.env['MOCHA_WORKER_ID'] ?? process.pid) % JOBS

let given = 0

/** One that nobody listens on and nobody else is given. */
export async function freePort(): Promise<number> {
  while (given < PORTS_PER_JOB) {
    const port = FIRST_PORT + job * PORTS_PER_JOB + given++
    if (await isFree(port)) return port
  }
  throw new Error(`all ${PORTS_PER_JOB} ports of job ${job} were given`)
}

/**
 * One of a few, each process beginning with another one.
 *
 * @returns `undefined`: all are in use, or not for this user
 */
export async function freePortOf(ports: readonly number[]): Promise<number | undefined> {
  const first = process.pid % ports.length
  for (const port of [...ports.slice(first), ...ports.slice(0, first)]) {
    if (await isFree(port)) return port
  }
  return undefined
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
