// A client of live events: reads the stream with fetch, because the token goes into a header.

import { expect } from 'chai'
import { expectEventDescribed } from './described.ts'
import { BASE } from './mobile.ts'

export interface ReceivedEvent {
  readonly id: string
  readonly event: string
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any
}

export class EventReader {
  readonly answer: Response
  /** Without an event, as the stream began. */
  firstId = ''
  readonly #url: string
  readonly #controller: AbortController
  readonly #blocks: AsyncGenerator<string>
  readonly received: ReceivedEvent[] = []

  private constructor(url: string, answer: Response, controller: AbortController) {
    this.#url = url
    this.answer = answer
    this.#controller = controller
    this.#blocks = blocksOf(answer.body ?? new ReadableStream())
  }

  /** Resolves when the stream has begun. */
  static async open(url: string, token: string, lastEventId?: string): Promise<EventReader> {
    const controller = new AbortController()
    const answer = await fetch(`${url}${BASE}/events`, {
      signal: controller.signal,
      headers: {
        authorization: `Bearer ${token}`,
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      },
    })
    expect(answer.status).to.equal(200)
    const reader = new EventReader(url, answer, controller)
    const { value = '' } = await reader.#blocks.next()
    expect(value).to.match(/^retry: \d+/)
    reader.firstId = /^id: (.*)$/m.exec(value)?.[1] ?? ''
    return reader
  }

  /** The next event, heartbeats left out. */
  async next(): Promise<ReceivedEvent> {
    for (;;) {
      const { value, done } = await this.#blocks.next()
      if (done === true) throw new Error('the stream has ended')
      const event = await this.#read(value)
      if (event === undefined) continue
      this.received.push(event)
      return event
    }
  }

  /** The next event that is meant; those before it are passed over. */
  async find(isMeant: (event: ReceivedEvent) => boolean): Promise<ReceivedEvent> {
    for (;;) {
      const event = await this.next()
      if (isMeant(event)) return event
    }
  }

  /** Resolves when the server has ended the stream. @returns what came before */
  async rest(): Promise<ReceivedEvent[]> {
    const rest: ReceivedEvent[] = []
    for await (const block of this.#blocks) {
      const event = await this.#read(block)
      if (event !== undefined) rest.push(event)
    }
    return rest
  }

  close(): void {
    this.#controller.abort()
  }

  /** @returns `undefined` for what is no event */
  async #read(block: string): Promise<ReceivedEvent | undefined> {
    const fields = fieldsOf(block)
    const data = fields.get('data')
    if (data === undefined) return undefined
    const event = { id: fields.get('id') ?? '', event: fields.get('event') ?? '', data }
    await expectEventDescribed(this.#url, event)
    return { ...event, data: JSON.parse(data) }
  }
}

async function* blocksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    yield* blocks
  }
}

function fieldsOf(block: string): ReadonlyMap<string, string> {
  return new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 2)]
    }),
  )
}
