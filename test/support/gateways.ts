// Gateways that each send one measurement after the other, some over a connection that they keep,
// some over a new one each time. What is refused until later is sent again then; any other answer
// than 201, and none, is a failure of the story.

import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { sendBatch } from './http.ts'

const EVENTS_MAX = 500
/** Of a pause between two measurements: some of nginx's connections stay idle for a while. */
const PAUSE_MS_MAX = 4_000

export class Gateways {
  readonly failures: string[] = []
  refused = 0
  longestWaitMs = 0
  readonly #url: string
  readonly #token: string
  readonly #sent: number[]
  readonly #running: Promise<unknown>
  #isStopping = false

  /** @param url of what is between them and the service */
  constructor(count: number, url: string, token: string) {
    this.#url = url
    this.#token = token
    this.#sent = Array.from({ length: count }, () => 0)
    this.#running = Promise.all(this.#sent.map((_, at) => this.#run(at)))
  }

  /** How many measurements were acknowledged. */
  get count(): number {
    return this.#sent.reduce((sum, sent) => sum + sent, 0)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }

  /** Sends the newest of each gateway again: they are known, all of them. */
  async sendAgain(): Promise<void> {
    for (const [at, sent] of this.#sent.entries()) {
      const size = Math.min(sent, EVENTS_MAX)
      const events = Array.from({ length: size }, (_, back) => eventOf(at, sent - 1 - back))
      const { status } = await sendBatch(this.#url, this.#token, events)
      expect(status, `what gateway ${at} had sent`).to.equal(200)
    }
  }

  async #run(at: number): Promise<void> {
    const keeps = at % 2 === 0
    const agent = new Agent({ keepAlive: keeps, maxSockets: 1 })
    while (!this.#isStopping) {
      await setTimeout(Math.random() * PAUSE_MS_MAX)
      const startedMs = performance.now()
      const failure = await this.#deliver(agent, eventOf(at, this.#sent[at]!))
      const waitedMs = performance.now() - startedMs
      this.longestWaitMs = Math.max(this.longestWaitMs, waitedMs)
      if (failure === undefined) this.#sent[at]!++
      else this.failures.push(`${keeps ? 'kept' : 'new'} connection: ${failure}`)
    }
    agent.destroy()
  }

  /** @returns what went wrong */
  async #deliver(agent: Agent, event: object): Promise<string | undefined> {
    try {
      const { statusCode, headers, text } = await this.#post(agent, event)
      if (statusCode === 201) return undefined
      const isLater = statusCode === 503 && headers['retry-after'] !== undefined
      if (!isLater) return `${statusCode}: ${text}`
      this.refused++
      await setTimeout(Number(headers['retry-after']) * 1_000)
    } catch (error) {
      return String(error)
    }
    return this.#deliver(agent, event)
  }

  async #post(agent: Agent, event: object) {
    const headers = {
      authorization: `Bearer ${this.#token}`,
      'content-type': 'application/json',
    }
    const outgoing = request(`${this.#url}/api/v1/measurements`, { method: 'POST', agent, headers })
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve)
      outgoing.once('error', reject)
      outgoing.end(JSON.stringify(event))
    })
    const { statusCode, headers: told } = answer
    return { statusCode, headers: told, text: (await buffer(answer)).toString('utf8') }
  }
}

function eventOf(gateway: number, at: number) {
  return { event_id: `${gateway}/${at}`, sn: `GATEWAY-${gateway}`, temp: at % 50 }
}
