// The story of a service that is killed again and again while senders send: what they were told is
// kept must be there, once, and what they were not told must be there whole or not at all.
//
// Each measurement has a time of its own, so that it can be found again in the history: the event
// `sender/n` is at START_MS + n * STEP_MS of sensor `sender`.

import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { serve } from './command.ts'
import { createFleetToken } from './fleet-token.ts'

const START_MS = Date.UTC(2026, 0, 1)
const STEP_MS = 250
const SENDERS = 8
const BATCH = 50
const SETTINGS = { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0', LOG_LEVEL: 'info' }
const USER = 'fleet@example.org'

interface Event {
  readonly event_id: string
  readonly sn: string
  readonly temp: number
  readonly timestamp: string
}

/** What one sender has sent, by batches; `isAcknowledged` is what it was told. */
interface SentBatch {
  readonly events: readonly Event[]
  isAcknowledged: boolean
}

class Sender {
  readonly sn: string
  readonly sent: SentBatch[] = []
  readonly #acknowledged = Promise.withResolvers<void>()
  #next = 0

  constructor(sn: string) {
    this.sn = sn
  }

  /** Resolves at its first acknowledgement. */
  get acknowledged(): Promise<void> {
    return this.#acknowledged.promise
  }

  /** Sends new batches until the service does not answer any more. */
  async sendUntilItBreaks(url: string, token: string): Promise<void> {
    for (;;) {
      const batch = { events: this.#makeEvents(), isAcknowledged: false }
      this.sent.push(batch)
      const status = await post(url, token, batch.events)
      if (status === undefined) return
      expect(status).to.equal(201)
      batch.isAcknowledged = true
      this.#acknowledged.resolve()
    }
  }

  #makeEvents(): Event[] {
    const size = this.#next % 3 === 0 ? 1 : BATCH
    return Array.from({ length: size }, () => {
      const at = this.#next++
      const timestamp = new Date(START_MS + at * STEP_MS).toISOString()
      return { event_id: randomUUID(), sn: this.sn, temp: at % 50, timestamp }
    })
  }
}

async function post(
  url: string,
  token: string,
  measurements: readonly Event[],
): Promise<number | undefined> {
  try {
    const response = await fetch(`${url}/api/v1/measurements/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ measurements }),
    })
    await response.arrayBuffer()
    return response.status
  } catch {
    return undefined
  }
}

export interface KillStory {
  readonly kills: number
  /** How long the service runs under load before each kill, at most. */
  readonly loadMsMax: number
  readonly dataDir: string
  readonly onKill?: (count: number) => void
}

/** Runs the story and checks its end. @returns how many measurements were acknowledged */
export async function killUnderLoad({
  kills,
  loadMsMax,
  dataDir,
  onKill,
}: KillStory): Promise<number> {
  const token = await createFleetToken(dataDir, USER)
  const senders = Array.from({ length: SENDERS }, (_, at) => new Sender(`sender-${at}`))
  for (let count = 1; count <= kills; count++) {
    const service = await serve(dataDir, SETTINGS)
    const sending = senders.map((sender) => sender.sendUntilItBreaks(service.url, token))
    // The last kill has something to lose, however slow the machine is.
    if (count === kills) await Promise.race([...senders.map((one) => one.acknowledged), ...sending])
    await setTimeout(Math.random() * loadMsMax)
    await service.stop('SIGKILL')
    await Promise.all(sending)
    onKill?.(count)
  }
  const service = await serve(dataDir, SETTINGS)
  try {
    for (const sender of senders) await checkSender(sender, service.url, token)
  } finally {
    expect(await service.stop()).to.equal(0)
  }
  return senders
    .flatMap(({ sent }) => sent)
    .filter(({ isAcknowledged }) => isAcknowledged)
    .reduce((sum, { events }) => sum + events.length, 0)
}

async function checkSender({ sn, sent }: Sender, url: string, token: string): Promise<void> {
  const stored = await readTimes(sn, url, token)
  for (const { events, isAcknowledged } of sent) {
    const counts = events.map(({ timestamp }) => stored.get(timestamp) ?? 0)
    const isThere = counts.every((count) => count === 1)
    const isAbsent = counts.every((count) => count === 0)
    expect(isAcknowledged ? isThere : isThere || isAbsent, `a batch of ${sn}`).to.equal(true)
    if (isThere) expect(await post(url, token, events), 'its repeat').to.equal(200)
  }
  const again = await readTimes(sn, url, token)
  expect([...again.values()].reduce((sum, count) => sum + count, 0)).to.equal(
    [...stored.values()].reduce((sum, count) => sum + count, 0),
  )
}

/** How often each time is in the history of a sensor. */
async function readTimes(sn: string, url: string, token: string): Promise<Map<string, number>> {
  const headers = { authorization: `Bearer ${token}`, accept: 'text/csv' }
  const list = await fetch(`${url}/api/v1/sensors`, { headers })
  const { data } = (await list.json()) as { data: { id: number; sn: string }[] }
  const id = data.find((sensor) => sensor.sn === sn)?.id
  const times = new Map<string, number>()
  if (id === undefined) return times
  const query = `from=${new Date(START_MS).toISOString()}&to=2026-01-08T00:00:00Z&bucket=raw`
  const response = await fetch(`${url}/api/v1/sensors/${id}/measurements?${query}`, { headers })
  expect(response.headers.get('thermolog-complete')).to.equal('true')
  const lines = (await response.text()).trim().split('\r\n').slice(1)
  for (const line of lines) {
    const [time = ''] = line.split(',')
    times.set(time, (times.get(time) ?? 0) + 1)
  }
  return times
}
