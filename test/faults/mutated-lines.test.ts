// Goal: no body of line protocol makes the service fail, and none costs the good lines beside
// it. Method: bodies of known senders with bytes changed go to both calls, each between
// two good lines; what is refused has to be named, and in the end the good lines are counted.

import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { SENDER_REQUESTS } from '../fixtures/line-senders.ts'
import { serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { byLength } from '../support/length.ts'
import { mutated } from '../support/mutated.ts'

const BODIES = byLength(10_000, 1_000_000)
const CONNECTIONS = 32
const SETTINGS = { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0' }
const HOUR_MS = 3_600_000
const START_MS = Math.floor(Date.now() / HOUR_MS - 2) * HOUR_MS
const GOOD = 'room,sn=28FF641E93160434 temp=21.37'
const NAMED_MAX = 20
/** Each seed makes the same bodies. */
const SEED = Math.floor(Math.random() * 2 ** 31)

interface Answer {
  readonly status: number
  readonly created: number
  readonly body: string
}

describe(`${BODIES} mutated bodies of line protocol`, () => {
  let dataDir: string
  let service: RunningService
  let token: string
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-mutated-'))
    token = await createFleetToken(dataDir, 'a@example.org')
    service = await serve(dataDir, SETTINGS)
  })

  after(async () => {
    agent.destroy()
    await service.stop()
    await rm(dataDir, { recursive: true })
  })

  it('are answered with what cannot be stored, and the good lines are stored', async () => {
    process.stderr.write(`      seed ${SEED}\n`)
    let next = 0
    const sendOn = async () => {
      for (let at = next++; at < BODIES; at = next++) check(at, await sendBody(at))
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, sendOn))
    expect(await countGood()).to.equal(2 * BODIES)
  })

  function bodyOf(at: number): Buffer {
    const { body } = SENDER_REQUESTS[at % SENDER_REQUESTS.length]!
    const good = [0, 1].map((other) => `${GOOD} ${START_MS + 2 * at + other}000000`)
    return Buffer.concat([
      Buffer.from(`${good[0]}\n`),
      mutated(Buffer.from(body), SEED + at),
      Buffer.from(`\n${good[1]}`),
    ])
  }

  async function sendBody(at: number): Promise<Answer> {
    const path = at % 2 === 0 ? '/api/v2/write' : '/write?db=x'
    const headers = { authorization: `Token ${token}` }
    const outgoing = request(new URL(path, service.url), { method: 'POST', agent, headers })
    outgoing.end(bodyOf(at))
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    const created = Number(incoming.headers['thermolog-created'])
    return { status: incoming.statusCode ?? 0, created, body: await text(incoming) }
  }

  function check(at: number, { status, created, body }: Answer): void {
    const told = `body ${at} of seed ${SEED}: ${status} ${body}`
    if (status !== 204 && status !== 400) throw new Error(told)
    if (!(created >= 2)) throw new Error(`a good line is not stored: ${told}`)
    if (status === 204) return
    const { message, error } = JSON.parse(body) as { message?: string; error?: string }
    const named: readonly string[] = (message ?? error ?? '').match(/line \d+: /g) ?? []
    const [, refused] = /^partial write: (\d+) of/.exec(message ?? error ?? '') ?? []
    const isNamed = named.length === Math.min(Number(refused), NAMED_MAX) && named.length > 0
    if (!isNamed || named.includes('line 1: ')) throw new Error(told)
  }

  async function countGood(): Promise<number> {
    const headers = { authorization: `Bearer ${token}` }
    const get = async (path: string) =>
      (await (await fetch(new URL(path, service.url), { headers })).json()) as { data: never }
    const sensors = (await get('/api/v1/sensors')).data as { id: number; sn: string }[]
    const id = sensors.find(({ sn }) => sn === '28FF641E93160434')?.id
    const [from, to] = [START_MS, START_MS + HOUR_MS].map((ms) => new Date(ms).toISOString())
    const path = `/api/v1/sensors/${id}/measurements?bucket=hour&from=${from}&to=${to}`
    const { points } = (await get(path)).data as { points: { count: number }[] }
    return points.reduce((sum, { count }) => sum + count, 0)
  }
})
