// `npm run demo -- --replicas 3`: several processes on one PostgreSQL, behind one address. Without
// DATABASE_URL a PostgreSQL of the demo's own is started, whose data end with it.

import { connect, createServer } from 'node:net'
import { once } from 'node:events'
import { pipeline } from 'node:stream'
import { postgresPrograms, PostgresServer } from '../test/support/postgres-server.ts'

/** A database for the demo, and what ends it. */
export async function findDatabase(): Promise<{ url: string; stop(): Promise<void> }> {
  const url = process.env['DATABASE_URL']
  if (url !== undefined) return { url, stop: () => Promise.resolve() }
  const programs = postgresPrograms()
  if (programs === undefined) {
    throw new Error('no PostgreSQL is found: install one (Debian: postgresql), or set DATABASE_URL')
  }
  const server = await PostgresServer.start(programs)
  return { url: server.url(), stop: () => server.remove() }
}

/**
 * Gives each new connection to the next process that takes it.
 *
 * @param ports of the processes
 */
export async function startProxy(port: number, ports: readonly number[]): Promise<() => void> {
  let next = 0
  const proxy = createServer((client) => {
    const tryNext = (left: number) => {
      const backend = connect(ports[next++ % ports.length] ?? 0, '127.0.0.1')
      const onRefused = () => (left > 1 ? tryNext(left - 1) : client.destroy())
      backend.once('error', onRefused)
      backend.once('connect', () => {
        backend.off('error', onRefused)
        pipeline(client, backend, client, () => undefined)
      })
    }
    client.on('error', () => undefined)
    tryNext(ports.length)
  })
  await once(proxy.listen(port, '127.0.0.1'), 'listening')
  return () => void proxy.close()
}
