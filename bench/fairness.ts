// How long one user's single measurement takes, sent every 100 ms, while another user sends batches
// as fast as answers come: new ones, ones that were sealed long ago, and ones whose event ids were
// chosen to lie together by a hash that has no secret.

import { createHash, randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { BATCH } from './batch-load.ts'
import { StampedRequest } from './bodies.ts'
import { postRequest, runLoad } from './load.ts'
import { milliseconds, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'
import type { MeasuredService } from './service.ts'
import { createTenant } from './tenants.ts'

const CONNECTIONS = [8, 64]
const EVERY_MS = 100
/** Sealed before they are repeated, when as many again have followed. */
const REPEATED_BATCHES = 1_000
const CHOSEN_BATCHES = 64
const FILL_SECONDS = 10

type NextRequest = (connection: number) => Buffer | undefined

export async function measureFairness(seconds: number): Promise<Figure[]> {
  const service = await startMeasured()
  const other = await createTenant(service, 'other@example.org')
  const startMs = Date.now() - 60 * 86_400_000
  const requests = Array.from(
    { length: Math.max(...CONNECTIONS) },
    (_, connection) =>
      new StampedRequest({ connection, size: BATCH, token: service.token, startMs }),
  )
  const stamped: NextRequest = (connection) => requests[connection]?.stamp()
  const sealed = await fill(service, stamped)
  const chosen = await chooseIds(service)
  const caseSeconds = Math.max(5, seconds / 6)
  const figures: Figure[] = []
  for (const { name, nextRequest } of [
    { name: 'new batches', nextRequest: stamped },
    { name: 'batches sealed long ago', nextRequest: again(sealed) },
    { name: 'batches with chosen event ids', nextRequest: again(chosen) },
  ]) {
    for (const connections of CONNECTIONS) {
      const what = `${name} on ${connections} connections`
      say(`one measurement every ${EVERY_MS} ms beside ${what}`)
      const { port } = service
      const ended = new AbortController()
      const sending = sendSteadily(port, other, ended.signal)
      const load = await runLoad({ port, connections, seconds: caseSeconds, nextRequest })
      ended.abort()
      figures.push({
        name: `p99 of another user's single POST beside ${what}`,
        ours: milliseconds(quantile(await sending, 0.99)),
        yardstick: `${perSecond(load.requestsPerSecond * BATCH)} of the other`,
        ratio: '',
      })
    }
  }
  await service.stop()
  await service.remove()
  return figures
}

function again(requests: readonly Buffer[]): NextRequest {
  let next = 0
  return () => requests[next++ % requests.length]
}

/** Sends batches, and enough others that they are sealed. @returns the first of them */
async function fill({ port }: MeasuredService, stamped: NextRequest): Promise<Buffer[]> {
  say('sending what is repeated later')
  const kept: Buffer[] = []
  const nextRequest: NextRequest = (connection) => {
    const request = stamped(connection)
    if (request !== undefined && kept.length < REPEATED_BATCHES) kept.push(Buffer.from(request))
    return request
  }
  await runLoad({ port, connections: 8, seconds: FILL_SECONDS, nextRequest })
  return kept
}

/** Batches of event ids whose hash with the user begins with the same byte. */
async function chooseIds({ port, token }: MeasuredService): Promise<Buffer[]> {
  say('choosing event ids')
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/me`, { headers })
  const { data } = (await response.json()) as { data: { user: { id: number } } }
  const timestamp = new Date(Date.now() - 86_400_000).toISOString()
  return Array.from({ length: CHOSEN_BATCHES }, () => {
    const measurements = Array.from({ length: BATCH }, (_, at) => {
      return { event_id: chosenId(data.user.id), sn: `chosen-${at % 10}`, temp: at / 10, timestamp }
    })
    return postRequest('/api/v1/measurements/batch', token, JSON.stringify({ measurements }))
  })
}

function chosenId(userId: number): string {
  for (;;) {
    const id = randomUUID()
    if (createHash('sha256').update(`${userId}:${id}`).digest()[3] === 0) return id
  }
}

/** Sends on time whether or not the last answer is there. @returns how long each took, in ms */
export async function sendSteadily(
  port: number,
  token: string,
  ended: AbortSignal,
): Promise<number[]> {
  const timesMs: number[] = []
  const underWay: Promise<void>[] = []
  while (!ended.aborted) {
    underWay.push(sendOne())
    await setTimeout(EVERY_MS)
  }
  await Promise.all(underWay)
  return timesMs

  async function sendOne(): Promise<void> {
    const startedAtMs = performance.now()
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/measurements`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ event_id: randomUUID(), sn: 'other', temp: 20 }),
    })
    if (response.status !== 201) throw new Error(`status ${response.status}`)
    await response.arrayBuffer()
    timesMs.push(performance.now() - startedAtMs)
  }
}

/** @param q from 0, the least, to 1, the greatest */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor((sorted.length - 1) * q)] ?? NaN
}
