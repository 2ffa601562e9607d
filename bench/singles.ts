// Single measurements, each acknowledged when it is on disk, beside an echo of the same body.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StampedRequest } from './bodies.ts'
import { runLoad } from './load.ts'
import type { LoadResult } from './load.ts'
import { median, milliseconds, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'

const CONNECTIONS = 64
const ROUNDS = 3

export async function measureSingles(seconds: number): Promise<Figure[]> {
  const echo = spawn(process.execPath, [fileURLToPath(new URL('./echo.ts', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = (await once(echo.stdout, 'data')) as [Buffer]
  const service = await startMeasured()
  const turnSeconds = Math.max(1, Math.round(seconds / (ROUNDS * 2)))
  const ours: LoadResult[] = []
  const echoed: LoadResult[] = []
  // In turns, so that both meet the same machine.
  for (let round = 1; round <= ROUNDS; round++) {
    say(`single measurements, round ${round} of ${ROUNDS}`)
    echoed.push(await load(Number(said.toString()), 'none', turnSeconds))
    ours.push(await load(service.port, service.token, turnSeconds))
  }
  const lone = await load(service.port, service.token, turnSeconds, 1)
  const syncMs = timeSync(service.dataDir)
  echo.kill()
  await service.stop()
  await service.remove()
  const ourRate = median(ours.map((result) => result.requestsPerSecond))
  const echoRate = median(echoed.map((result) => result.requestsPerSecond))
  const p99Ms = median(ours.map((result) => result.p99Ms))
  const echoP99Ms = median(echoed.map((result) => result.p99Ms))
  return [
    {
      name: `single POST, ${CONNECTIONS} connections, beside a bare Koa echo`,
      ours: perSecond(ourRate),
      yardstick: perSecond(echoRate),
      ratio: (ourRate / echoRate).toFixed(2),
    },
    {
      name: '  p99',
      ours: milliseconds(p99Ms),
      yardstick: milliseconds(echoP99Ms),
      ratio: (p99Ms / echoP99Ms).toFixed(1),
    },
    {
      name: '  one connection, p50; one fdatasync of a page',
      ours: milliseconds(lone.p50Ms),
      yardstick: milliseconds(syncMs),
      ratio: (lone.p50Ms / syncMs).toFixed(1),
    },
  ]
}

async function load(
  port: number,
  token: string,
  seconds: number,
  connections = CONNECTIONS,
): Promise<LoadResult> {
  const startMs = Date.now() - 86_400_000
  const requests = Array.from(
    { length: connections },
    (_, connection) => new StampedRequest({ connection, size: 0, token, startMs }),
  )
  const nextRequest = (connection: number) => requests[connection]?.stamp()
  const result = await runLoad({ port, connections, seconds, nextRequest })
  const unexpected = [...result.statuses.keys()].filter((status) => status > 201)
  if (unexpected.length > 0) throw new Error(`answers with status ${unexpected.join(', ')}`)
  return result
}

/** Median time until a page that is appended to a file is on disk. */
function timeSync(dataDir: string): number {
  const file = openSync(join(dataDir, 'sync'), 'w')
  const page = Buffer.alloc(4_096, 1)
  const timesMs = Array.from({ length: 500 }, () => {
    const startedAtMs = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    return performance.now() - startedAtMs
  })
  closeSync(file)
  return median(timesMs)
}
