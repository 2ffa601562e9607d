// Reading while the service takes all that senders can send: the dashboard and histories, as an app
// asks for them, at fifty a second.

import { setTimeout } from 'node:timers/promises'
import { BATCH, CONNECTIONS } from './batch-load.ts'
import { StampedRequest } from './bodies.ts'
import { runLoad } from './load.ts'
import { startMobileMeasured } from './mobile-service.ts'
import type { MobileService } from './mobile-service.ts'
import { milliseconds, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'

const READS_PER_SECOND = 50
const SINGLE_CONNECTIONS = 64
const QUESTIONS = [
  '/api/mobile/v1/dashboard',
  '/api/mobile/v1/sensors/1/measurements',
  '/api/mobile/v1/sensors/2/measurements?bucket=hour',
]

export async function measureMixed(seconds: number): Promise<Figure[]> {
  const service = await startMobileMeasured()
  const figures: Figure[] = []
  for (const [size, connections] of [
    [0, SINGLE_CONNECTIONS],
    [BATCH, CONNECTIONS],
  ] as const) {
    const what = size === 0 ? 'single POST' : `batches of ${size}`
    say(`${what} with ${READS_PER_SECOND} reads a second for ${seconds} s`)
    const { token, port } = service
    const startMs = Date.now() - 86_400_000
    const requests = Array.from(
      { length: connections },
      (_, connection) => new StampedRequest({ connection, size, token, startMs }),
    )
    const nextRequest = (connection: number) => requests[connection]?.stamp()
    const ended = new AbortController()
    const reading = readSteadily(service, ended.signal)
    const load = await runLoad({ port, connections, seconds, nextRequest })
    ended.abort()
    const timesMs = (await reading).toSorted((a, b) => a - b)
    const p99Ms = timesMs[Math.floor(timesMs.length * 0.99)] ?? NaN
    figures.push({
      name: `p99 of ${READS_PER_SECOND} reads a second beside ${what}`,
      ours: milliseconds(p99Ms),
      yardstick: `${perSecond(load.requestsPerSecond * (size || 1))} written`,
      ratio: '',
    })
  }
  await service.stop()
  await service.remove()
  return figures
}

/** Asks on time whether or not the last answer is there. @returns how long each took, in ms */
async function readSteadily(service: MobileService, ended: AbortSignal): Promise<number[]> {
  const headers = { authorization: `Bearer ${service.mobileToken}` }
  const timesMs: number[] = []
  const underWay: Promise<void>[] = []
  // The first measurements have to be there.
  await setTimeout(500)
  for (let read = 0; !ended.aborted; read++) {
    underWay.push(readOnce(read))
    await setTimeout(1_000 / READS_PER_SECOND)
  }
  await Promise.all(underWay)
  return timesMs

  async function readOnce(read: number): Promise<void> {
    const url = `http://127.0.0.1:${service.port}${QUESTIONS[read % QUESTIONS.length]}`
    const startedAtMs = performance.now()
    const response = await fetch(url, { headers })
    if (!response.ok) throw new Error(`${url} answered ${response.status}`)
    await response.arrayBuffer()
    timesMs.push(performance.now() - startedAtMs)
  }
}
