// A daemon in TypeScript, of Node's own modules alone (Node 22.18 or newer). It takes readings as
// lines `SN TEMP` or `SN TEMP TIME` on standard input and sends them to Thermolog so that none is
// lost and none is stored twice, whatever breaks: docs/daemon.md.
//
//   THERMOLOG_URL=http://127.0.0.1:8080 THERMOLOG_TOKEN=thd_live_… read-sensors | node send.ts
//
// Each reading is a line of a file of the spool, under an event id which it keeps until it is
// decided. The id is printed when the line is on disk: from there on a `kill -9` loses nothing.
// Files are sent whole, newest first, and deleted when all of it is decided; after any doubt a file
// is sent again, for sent twice is stored once. One daemon a spool.
//
//   $SPOOL/000000000001.ndjson   waits to be sent
//   $SPOOL/held.ndjson           the service does not want it now: sent again after a while
//   $SPOOL/rejected.ndjson       the service will never take it: for a person to look at
//   $SPOOL/ballast               room to set readings aside on a full disk

import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

const URL_OF_SERVICE = process.env['THERMOLOG_URL'] ?? 'http://127.0.0.1:8080'
const TOKEN = process.env['THERMOLOG_TOKEN'] ?? ''
const SPOOL = process.env['SPOOL'] ?? './spool'
const RETRY_MS_MAX = numberOf('RETRY_SECONDS_MAX', 60) * 1_000
const SILENCE_MS_MAX = numberOf('SILENCE_SECONDS_MAX', 3_600) * 1_000
const SPOOL_BYTES_MAX = numberOf('SPOOL_MB_MAX', 256) * 1e6
const RETRY_AFTER_MS_MAX = 600_000
const BALLAST_BYTES = 1 << 20
const BATCH_MAX = 500
const TIMEOUT_MS = 30_000
const IDLE_MS = 200
const HOUR_MS = 3_600_000
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/
const READING = /^([A-Za-z0-9:._-]+)\s+(-?\d+(?:\.\d+)?)(?:\s+(\S+))?\s*$/

const UNPERMITTED = ['unknown_sensor', 'sensor_quota']
const UNUSABLE = ['event_id_conflict', 'unsupported_media_type']
const TOO_MUCH = ['malformed_json', 'body_too_large', 'batch_too_large']

interface Element {
  readonly event_id: string
  readonly sn: string
  readonly temp: number
  readonly timestamp: string
}

/** What the service answers, as far as a daemon looks at it. */
interface Answer {
  readonly code?: string | undefined
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

function numberOf(name: string, otherwise: number): number {
  const value = Number(process.env[name] ?? otherwise)
  if (value > 0 && value < Infinity) return value
  return giveUp(`${name} is not a number above 0`)
}

function giveUp(text: string): never {
  process.stderr.write(`${text}\n`)
  process.exit(2)
}

const toldAtMs = new Map<string, number>()
/** The same matter is told again after a while, not at each attempt. */
function alarm(text: string, matter = '', againMs = 0): void {
  const nowMs = performance.now()
  if (nowMs - (toldAtMs.get(matter) ?? -Infinity) < againMs) return
  toldAtMs.set(matter, nowMs)
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
    fs.mkdirSync(SPOOL, { recursive: true })
    // The last file may end in half a line: nothing is written behind that.
    this.#number = Number.parseInt(this.#files().at(-1) ?? '0', 10)
    this.#renewBallast()
  }

  /** @returns whether there was room for it */
  keep(element: Element): boolean {
    try {
      if (this.#fd === undefined || this.#lines >= BATCH_MAX) this.#startFile()
      append(this.#fd!, `${JSON.stringify(element)}\n`)
    } catch (error) {
      if (!isFull(error)) throw error
      // Nothing is written behind half a line.
      this.#endFile()
      return false
    }
    this.#lines++
    return true
  }

  /** The newest file, to which nothing is added any more: who looks wants to know how it is now. */
  take(): { readonly name: string; readonly elements: Element[] } | undefined {
    const name = this.#files().at(-1)
    if (name === undefined) return undefined
    if (name === nameOf(this.#number)) this.#endFile()
    return { name, elements: readElements(name) }
  }

  remove(name: string): void {
    fs.unlinkSync(join(SPOOL, name))
    syncFolder()
    this.#renewBallast()
  }

  putInto(name: 'held.ndjson' | 'rejected.ndjson', elements: readonly object[]): void {
    if (elements.length === 0) return
    // A new line first: the last one may be half a line.
    const text = elements.map((element) => `\n${JSON.stringify(element)}\n`).join('')
    try {
      appendTo(name, text)
    } catch (error) {
      if (!isFull(error)) throw error
      fs.rmSync(join(SPOOL, 'ballast'), { force: true })
      appendTo(name, text)
    }
  }

  releaseHeld(): void {
    if (!this.hasHeld()) return
    this.#endFile()
    fs.renameSync(join(SPOOL, 'held.ndjson'), join(SPOOL, nameOf(++this.#number)))
    syncFolder()
  }

  hasHeld(): boolean {
    return fs.existsSync(join(SPOOL, 'held.ndjson'))
  }

  #files(): string[] {
    return fs
      .readdirSync(SPOOL)
      .filter((name) => /^\d+\.ndjson$/.test(name))
      .toSorted()
  }

  #renewBallast(): void {
    const file = join(SPOOL, 'ballast')
    if (fs.existsSync(file)) return
    try {
      fs.writeFileSync(file, randomBytes(BALLAST_BYTES), { flush: true })
    } catch (error) {
      if (!isFull(error)) throw error
      fs.rmSync(file, { force: true })
    }
  }

  #startFile(): void {
    this.#endFile()
    const sizes = this.#files().map((name) => fs.statSync(join(SPOOL, name)).size)
    const isTooMuch = sizes.reduce((sum, size) => sum + size, 0) > SPOOL_BYTES_MAX
    if (isTooMuch) throw Object.assign(new Error('the spool is full'), { code: 'ENOSPC' })
    this.#fd = fs.openSync(join(SPOOL, nameOf(++this.#number)), 'ax')
    this.#lines = 0
    syncFolder()
  }

  #endFile(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
    this.#fd = undefined
  }
}

function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')
}

function appendTo(name: string, text: string): void {
  const fd = fs.openSync(join(SPOOL, name), 'a')
  try {
    append(fd, text)
  } finally {
    fs.closeSync(fd)
  }
  syncFolder()
}

function nameOf(number: number): string {
  return `${String(number).padStart(12, '0')}.ndjson`
}

function append(fd: number, text: string): void {
  fs.appendFileSync(fd, text)
  fs.fsyncSync(fd)
}

function syncFolder(): void {
  const fd = fs.openSync(SPOOL, 'r')
  fs.fsyncSync(fd)
  fs.closeSync(fd)
}

/** Without half a line: its id was never printed, or it is still in the file that it came from. */
function readElements(name: string): Element[] {
  const lines = fs.readFileSync(join(SPOOL, name), 'utf8').split('\n')
  const whole = lines.filter((line) => line.startsWith('{') && line.endsWith('}'))
  return whole.map((line) => JSON.parse(line) as Element)
}

async function post(
  batch: readonly Element[],
): Promise<{ readonly status: number; readonly body: Answer; readonly askedMs: number }> {
  try {
    const response = await fetch(`${URL_OF_SERVICE}/api/v1/measurements/batch`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: gzipSync(JSON.stringify({ measurements: batch })),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const { status } = response
    const { code, ...body } = parseAnswer(await response.text())
    const asked = Number(response.headers.get('retry-after') ?? 0) * 1_000 || 0
    const askedMs = Math.min(asked, RETRY_AFTER_MS_MAX)
    // A refusal of anything else is a proxy's or a hotspot's.
    const isOwn = !!response.headers.get('content-type')?.startsWith('application/problem+json')
    const told = { data: status < 300 ? (body.data ?? {}) : {} }
    return { status, body: isOwn ? { ...body, code } : told, askedMs }
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
function judge(answer: Answer, batch: readonly Element[]): Verdict {
  const { code = '', data, errors } = answer
  const delivered = new Set<string>()
  const rejected = new Map<string, string>()
  const held = new Map<string, string>()
  // Only what the receipt names: a 200 may be of somebody else on the way.
  for (const { event_id: id, status: decision } of data?.measurements ?? []) {
    if (decision === 'conflict') rejected.set(id, decision)
    if (decision === 'created' || decision === 'duplicate') delivered.add(id)
  }
  const isUnpermitted = UNPERMITTED.includes(code)
  for (const { event_id: id = '', code: fault } of errors ?? []) {
    if (isUnpermitted || fault === 'timestamp_in_future') held.set(id, fault)
    else if (code === 'validation_failed') rejected.set(id, fault)
  }
  for (const id of rejected.keys()) held.delete(id)
  // A batch that is too much is halved until it is one.
  const isUnusable = [...UNUSABLE, ...TOO_MUCH].includes(code)
  for (const { event_id: id } of isUnusable ? batch : []) rejected.set(id, code)
  return { delivered, rejected, held }
}

let silentSinceMs = performance.now()
function watchSilence(status: number, count: number): void {
  if (performance.now() - silentSinceMs < SILENCE_MS_MAX) return
  silentSinceMs = performance.now()
  alarm(`nothing was delivered for long, ${count} readings and more wait: status ${status}`)
}

/** Sends until each event of the batch is decided or held. */
async function sendBatch(spool: Spool, batch: readonly Element[]): Promise<void> {
  let left = batch
  for (let failures = 0; left.length > 0;) {
    const { status, body, askedMs } = await post(left)
    if (left.length > 1 && TOO_MUCH.includes(body.code ?? '')) {
      const half = Math.ceil(left.length / 2)
      await sendBatch(spool, left.slice(0, half))
      await sendBatch(spool, left.slice(half))
      return
    }
    const { delivered, rejected, held } = judge(body, left)
    if (delivered.size > 0) silentSinceMs = performance.now()
    else watchSilence(status, left.length)
    const aside = left.flatMap((element) => {
      const reason = rejected.get(element.event_id)
      return reason === undefined ? [] : [{ ...element, reason }]
    })
    const waiting = left.filter(({ event_id: id }) => held.has(id))
    spool.putInto('rejected.ndjson', aside)
    spool.putInto('held.ndjson', waiting)
    const before = left.length
    left = left.filter(({ event_id: id }) => ![delivered, rejected, held].some((s) => s.has(id)))
    const isRefused = status >= 300 && status < 500 && status !== 408 && status !== 429
    if (isRefused || rejected.size + held.size > 0) {
      const codes = [...new Set([...rejected.values(), ...held.values()])].join(', ')
      const told = `status ${status} ${body.code ?? ''}: ${codes || 'everything is kept'}`
      const text = `${told}; server time ${body.server_time ?? '?'}`
      if (rejected.size > 0) alarm(text)
      else if (held.size > 0) alarm(text, `held ${codes}`, 24 * HOUR_MS)
      else alarm(text, `${status} ${body.code}`, HOUR_MS)
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
      silentSinceMs = performance.now()
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

if (TOKEN === '') giveUp('THERMOLOG_TOKEN is not set')
if (!/^https?:\/\/[^/]/.test(URL_OF_SERVICE)) giveUp('THERMOLOG_URL is no address')
const spool = new Spool()
let isInputOver = false
let isLosing = false
const sending = sendAll(spool, () => isInputOver)
for await (const line of wholeLines(process.stdin)) {
  const nowMs = Date.now()
  const [, sn = '', temp = '', time] = READING.exec(line) ?? []
  const at = new Date(time === undefined ? nowMs : INSTANT.test(time) ? time : NaN)
  if (sn === '' || Number.isNaN(at.getTime())) {
    alarm(`no reading: ${line}`)
    continue
  }
  const timestamp = at.toISOString()
  const id = uuid7(nowMs)
  const isKept = spool.keep({ event_id: id, sn, temp: Number(temp), timestamp })
  if (isKept) process.stdout.write(`${id}\n`)
  else if (!isLosing) alarm('there is no room: new readings are lost until old ones are sent')
  isLosing = !isKept
}
isInputOver = true
await sending
