// A daemon in TypeScript, of Node's own modules alone (Node 22.18 or newer). It takes readings as
// lines `SN TEMP` on standard input and sends them to Thermolog so that none is lost and none is
// stored twice, whatever breaks: docs/daemon.md.
//
//   THERMOLOG_URL=http://127.0.0.1:8080 THERMOLOG_TOKEN=thd_live_… read-sensors | node send.ts
//
// Each reading is a line of a file of the spool, under an event id which it keeps until it is
// decided. The id is printed when the line is on disk: from there on a `kill -9` loses nothing.
// Files are sent whole, oldest first, and deleted when all of it is decided; after any doubt a file
// is sent again, for sent twice is stored once. One daemon a spool.
//
//   $SPOOL/000000000001.ndjson   waits to be sent
//   $SPOOL/held.ndjson           the service does not want it now: sent again after a while
//   $SPOOL/rejected.ndjson       the service will never take it: for a person to look at

import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

const URL_OF_SERVICE = process.env['THERMOLOG_URL'] ?? 'http://127.0.0.1:8080'
const TOKEN = process.env['THERMOLOG_TOKEN'] ?? ''
const SPOOL = process.env['SPOOL'] ?? './spool'
const RETRY_MS_MAX = Number(process.env['RETRY_SECONDS_MAX'] ?? 60) * 1_000
const BATCH_MAX = 500
const TIMEOUT_MS = 30_000
const IDLE_MS = 200

interface Element {
  readonly event_id: string
  readonly sn: string
  readonly temp: number
  readonly timestamp: string
}

/** What the service answers, as far as a daemon looks at it. */
interface Answer {
  readonly code?: string
  readonly server_time?: string
  readonly data?: { readonly measurements?: readonly { event_id: string; status: string }[] }
  readonly errors?: readonly { code: string; event_id?: string }[]
}

/** Why each of these events is not to be sent again, or not now. */
type Reasons = ReadonlyMap<string, string>

interface Verdict {
  readonly delivered: ReadonlySet<string>
  readonly rejected: Reasons
  readonly held: Reasons
}

function alarm(text: string): void {
  process.stderr.write(`ALARM: ${text}\n`)
}

/** Random, and greater than all of the milliseconds before. */
function uuid7(nowMs: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(nowMs, 0, 6)
  bytes[6] = 0x70 | (bytes[6]! & 0x0f)
  bytes[8] = 0x80 | (bytes[8]! & 0x3f)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** What a call has changed is on disk when it returns. */
class Spool {
  #number: number
  #fd: number | undefined
  #lines = 0

  constructor() {
    mkdirSync(SPOOL, { recursive: true })
    // The last file may end in half a line: nothing is written behind that.
    this.#number = Number.parseInt(this.#files().at(-1) ?? '0', 10)
  }

  keep(element: Element): void {
    if (this.#fd === undefined || this.#lines >= BATCH_MAX) this.#startFile()
    append(this.#fd!, `${JSON.stringify(element)}\n`)
    this.#lines++
  }

  /** The oldest file, to which nothing is added any more. */
  take(): { readonly name: string; readonly elements: Element[] } | undefined {
    const [name] = this.#files()
    if (name === undefined) return undefined
    if (name === nameOf(this.#number)) this.#endFile()
    return { name, elements: readElements(name) }
  }

  /** All of it is decided. */
  remove(name: string): void {
    unlinkSync(join(SPOOL, name))
    syncFolder()
  }

  putInto(name: 'held.ndjson' | 'rejected.ndjson', elements: readonly object[]): void {
    if (elements.length === 0) return
    const fd = openSync(join(SPOOL, name), 'a')
    // A new line first: the last one may be half a line.
    append(fd, elements.map((element) => `\n${JSON.stringify(element)}\n`).join(''))
    closeSync(fd)
    syncFolder()
  }

  releaseHeld(): void {
    if (!this.hasHeld()) return
    this.#endFile()
    renameSync(join(SPOOL, 'held.ndjson'), join(SPOOL, nameOf(++this.#number)))
    syncFolder()
  }

  hasHeld(): boolean {
    return existsSync(join(SPOOL, 'held.ndjson'))
  }

  #files(): string[] {
    return readdirSync(SPOOL)
      .filter((name) => /^\d+\.ndjson$/.test(name))
      .toSorted()
  }

  #startFile(): void {
    this.#endFile()
    this.#fd = openSync(join(SPOOL, nameOf(++this.#number)), 'ax')
    this.#lines = 0
    syncFolder()
  }

  #endFile(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}

function nameOf(number: number): string {
  return `${String(number).padStart(12, '0')}.ndjson`
}

function append(fd: number, text: string): void {
  appendFileSync(fd, text)
  fsyncSync(fd)
}

function syncFolder(): void {
  const fd = openSync(SPOOL, 'r')
  fsyncSync(fd)
  closeSync(fd)
}

/** Without half a line: its id was never printed, or it is still in the file that it came from. */
function readElements(name: string): Element[] {
  const lines = readFileSync(join(SPOOL, name), 'utf8').split('\n')
  return lines.filter((line) => line.startsWith('{') && line.endsWith('}')).map(parseElement)
}

function parseElement(line: string): Element {
  return JSON.parse(line) as Element
}

async function post(
  batch: readonly Element[],
): Promise<{ readonly status: number; readonly body: Answer; readonly askedMs: number }> {
  try {
    const response = await fetch(`${URL_OF_SERVICE}/api/v1/measurements/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ measurements: batch }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const body = parseAnswer(await response.text())
    const askedMs = Number(response.headers.get('retry-after') ?? 0) * 1_000 || 0
    return { status: response.status, body, askedMs }
  } catch {
    // No answer: it may have been stored, or not.
    return { status: 0, body: {}, askedMs: 0 }
  }
}

/** Answers of somebody else on the way may have any shape. */
function parseAnswer(text: string): Answer {
  try {
    const { data, errors, ...rest } = JSON.parse(text) as Answer
    return {
      ...rest,
      data: { measurements: Array.isArray(data?.measurements) ? data.measurements : [] },
      errors: Array.isArray(errors) ? errors : [],
    }
  } catch {
    return {}
  }
}

/** What the answer means for each event; of what it does not name, nothing is known. */
function judge(status: number, { data, errors }: Answer, batch: readonly Element[]): Verdict {
  const delivered = new Set<string>()
  const rejected = new Map<string, string>()
  const held = new Map<string, string>()
  if (status >= 200 && status < 300) {
    // Only what the receipt names: this 200 may be of somebody else on the way.
    for (const { event_id: id, status: decision } of data?.measurements ?? []) {
      if (decision === 'conflict') rejected.set(id, decision)
      if (decision === 'created' || decision === 'duplicate') delivered.add(id)
    }
  } else if (status === 403 || status === 422) {
    for (const { event_id: id, code } of errors ?? []) {
      const waits = status === 403 || code === 'timestamp_in_future'
      if (id !== undefined) (waits ? held : rejected).set(id, code)
    }
    for (const id of rejected.keys()) held.delete(id)
  } else if ([400, 404, 405, 409, 413, 415].includes(status)) {
    for (const { event_id: id } of batch) rejected.set(id, `status ${status}`)
  }
  return { delivered, rejected, held }
}

/** Sends until each event of the batch is decided or held. */
async function sendBatch(spool: Spool, batch: readonly Element[]): Promise<void> {
  let left = batch
  let lastAlarm = ''
  for (let failures = 0; left.length > 0;) {
    const { status, body, askedMs } = await post(left)
    const { delivered, rejected, held } = judge(status, body, left)
    spool.putInto(
      'rejected.ndjson',
      left
        .filter(({ event_id: id }) => rejected.has(id))
        .map((element) => ({ ...element, reason: rejected.get(element.event_id) })),
    )
    spool.putInto(
      'held.ndjson',
      left.filter(({ event_id: id }) => held.has(id)),
    )
    const before = left.length
    left = left.filter(({ event_id: id }) => ![delivered, rejected, held].some((s) => s.has(id)))
    if (status === 401 || status === 403 || rejected.size + held.size > 0) {
      const codes = [...new Set([...rejected.values(), ...held.values()])].join(', ')
      const told = `status ${status} ${body.code ?? ''}: ${codes}`
      const text = `${told}; server time ${body.server_time ?? '?'}`
      // A refused token is worth one line, not one for each attempt.
      if (text !== lastAlarm) alarm(text)
      lastAlarm = text
    }
    failures = left.length < before ? 0 : failures + 1
    const longestMs = Math.min(RETRY_MS_MAX, 2 ** Math.min(failures, 10) * 500)
    if (failures > 0) await setTimeout(Math.max(askedMs, longestMs * (0.5 + Math.random() / 2)))
  }
}

/** Sends for ever, and after the end of the input until nothing is left. */
async function sendAll(spool: Spool, isInputOver: () => boolean): Promise<void> {
  spool.releaseHeld()
  let releasedAtMs = performance.now()
  for (;;) {
    if (performance.now() - releasedAtMs > RETRY_MS_MAX) {
      spool.releaseHeld()
      releasedAtMs = performance.now()
    }
    const file = spool.take()
    if (file === undefined) {
      if (isInputOver() && !spool.hasHeld()) return
      await setTimeout(IDLE_MS)
      continue
    }
    for (let start = 0; start < file.elements.length; start += BATCH_MAX) {
      await sendBatch(spool, file.elements.slice(start, start + BATCH_MAX))
    }
    spool.remove(file.name)
  }
}

/** Half a line at the end is no reading: whoever wrote it has died. */
async function* wholeLines(input: NodeJS.ReadStream): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

if (TOKEN === '') {
  process.stderr.write('THERMOLOG_TOKEN is not set\n')
  process.exit(2)
}
const spool = new Spool()
let isInputOver = false
const sending = sendAll(spool, () => isInputOver)
for await (const line of wholeLines(process.stdin)) {
  const [, sn = '', temp = ''] = /^([A-Za-z0-9:._-]+)\s+(-?\d+(?:\.\d+)?)\s*$/.exec(line) ?? []
  if (sn === '') {
    alarm(`no reading: ${line}`)
    continue
  }
  const nowMs = Date.now()
  const timestamp = new Date(nowMs).toISOString()
  const id = uuid7(nowMs)
  spool.keep({ event_id: id, sn, temp: Number(temp), timestamp })
  process.stdout.write(`${id}\n`)
}
isInputOver = true
await sending
