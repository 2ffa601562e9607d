// `npm run soak -- --minutes 20`: a service at half of what it can take, with a fault every few
// seconds: killed and started again, stopped and continued, connections cut in the middle of a
// request. Senders repeat what was not answered. At the end everything that was sent must be there
// once, and `thermolog verify` must find nothing. Not part of any test run: it takes its time.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { serve, startCommand } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'

const USER = 'fleet@example.org'
const SENDERS = 16
const SENSORS_PER_SENDER = 10
const BATCH = 500
const START_MS = Date.now() - 7 * 86_400_000
const FAULT_EVERY_MS_MAX = 10_000
const STOPPED_MS_MAX = 2_000
const SETTINGS = { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0', LOG_LEVEL: 'info' }

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    rate: { type: 'string', default: '150000' },
    'data-dir': { type: 'string' },
  },
})
const endAtMs = performance.now() + Number(values.minutes) * 60_000
const batchEveryMs = (1_000 * BATCH * SENDERS) / Number(values.rate)
const dataDir = values['data-dir'] ?? (await mkdtemp(join(tmpdir(), 'thermolog-soak-')))
const agent = new Agent({ keepAlive: true })
const totals = { batches: 0, unanswered: 0, refused: 0, kills: 0, stops: 0, cuts: 0 }

const token = await createFleetToken(dataDir, USER)
let service = await serve(dataDir, SETTINGS)
say(`data in ${dataDir}`)
const sending = Array.from({ length: SENDERS }, (_, sender) => send(sender))
await setTimeout(10_000)
say(`at the start: ${describe(service)}`)
while (performance.now() < endAtMs) {
  await setTimeout(Math.random() * FAULT_EVERY_MS_MAX)
  await causeFault()
}
await Promise.all(sending)
say(`at the end: ${describe(service)}`)
say(JSON.stringify(totals))
await checkCounts()
await service.stop()
// It takes minutes, and says how far it is.
const verifying = startCommand(dataDir, ['verify'], {})
verifying.stderr.pipe(process.stderr)
verifying.stdout.pipe(process.stdout)
await once(verifying, 'exit')
process.exitCode = verifying.exitCode ?? 1

async function causeFault(): Promise<void> {
  const kind = Math.random()
  if (kind < 0.3) {
    totals.kills++
    await service.stop('SIGKILL')
    const startedAtMs = performance.now()
    service = await serve(dataDir, SETTINGS)
    say(`killed; started again in ${Math.round(performance.now() - startedAtMs)} ms`)
  } else if (kind < 0.6) {
    totals.stops++
    service.child.kill('SIGSTOP')
    await setTimeout(Math.random() * STOPPED_MS_MAX)
    service.child.kill('SIGCONT')
  } else {
    totals.cuts++
    for (const sockets of Object.values(agent.sockets)) {
      for (const socket of sockets ?? []) socket.destroy()
    }
  }
}

/** Sends a batch, again until it is answered, and then the next. */
async function send(sender: number): Promise<void> {
  let clockMs = START_MS
  for (let dueAtMs = performance.now(); performance.now() < endAtMs; dueAtMs += batchEveryMs) {
    const measurements = Array.from({ length: BATCH }, (_, at) => {
      if (at % SENSORS_PER_SENDER === 0) clockMs += 5
      const sensor = sender * SENSORS_PER_SENDER + (at % SENSORS_PER_SENDER)
      const sn = `28FF${String(sensor).padStart(12, '0')}`
      const timestamp = new Date(clockMs).toISOString()
      return { event_id: randomUUID(), sn, temp: 20 + (at % 100) / 10, timestamp }
    })
    const body = JSON.stringify({ measurements })
    for (let status = 0; status !== 201 && status !== 200;) {
      status = await post(body)
      if (status === 0) totals.unanswered++
      else if (status === 503) totals.refused++
      else if (status > 201) throw new Error(`an answer with status ${status}`)
      if (status === 0 || status === 503) await setTimeout(100)
    }
    totals.batches++
    await setTimeout(Math.max(0, dueAtMs + batchEveryMs - performance.now()))
  }
}

/** @returns the status, 0 without an answer */
function post(body: string): Promise<number> {
  return new Promise((resolve) => {
    const outgoing = request(
      `${service.url}/api/v1/measurements/batch`,
      {
        agent,
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      },
      (response) => {
        response.resume()
        response.once('end', () => resolve(response.statusCode ?? 0))
        response.once('error', () => resolve(0))
      },
    )
    outgoing.once('error', () => resolve(0))
    outgoing.end(body)
  })
}

/** Each measurement that was sent is counted once in the history of its sensor. */
async function checkCounts(): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const list = await fetch(`${service.url}/api/v1/sensors`, { headers })
  const { data } = (await list.json()) as { data: { id: number }[] }
  const period = `from=${new Date(START_MS).toISOString()}&to=${new Date().toISOString()}`
  let stored = 0
  for (const { id } of data) {
    const url = `${service.url}/api/v1/sensors/${id}/measurements?${period}&bucket=day`
    for (let isComplete = false; !isComplete;) {
      const answer = (await (await fetch(url, { headers })).json()) as {
        data: { complete: boolean; points: { count: number }[] }
      }
      isComplete = answer.data.complete
      if (isComplete) stored += answer.data.points.reduce((sum, { count }) => sum + count, 0)
    }
  }
  const sent = totals.batches * BATCH
  say(`${sent} measurements were sent, ${stored} are stored`)
  if (sent !== stored) throw new Error('that is not the same')
}

function describe({ child }: RunningService): string {
  const process = `/proc/${child.pid}`
  const memory = /VmRSS:\s+(\d+)/.exec(readFileSync(`${process}/status`, 'utf8'))?.[1]
  const files = readdirSync(dataDir)
    .map((name) => `${name} ${megabytes(statSync(join(dataDir, name)).size)}`)
    .join(', ')
  const handles = readdirSync(`${process}/fd`).length
  return `${megabytes(Number(memory) * 1_024)} of memory, ${handles} open handles; ${files}`
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}

function say(text: string): void {
  process.stdout.write(`${new Date().toISOString()} ${text}\n`)
}
