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
//   $SPOOL/rejected.ndjson       set aside; `mv` it to 000000000000.ndjson and it is sent again
//   $SPOOL/ballast               room to set readings aside on a full disk

import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { uptime } from 'node:os'
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
const HOUR_MS = 3_600_000
/** Where the system does not tell the boot, this process stands for it. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id'
const BOOT = fs.existsSync(BOOT_ID) ? fs.readFileSync(BOOT_ID, 'utf8') : String(process.hrtime())
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/
const READING = /^([A-Za-z0-9:._-]+)\s+(-?\d+(?:\.\d+)?)(?:\s+(\S+))?\s*$/

const MEMBERS = ['measurements', 'event_id', 'sn', 'temp', 'timestamp']
const UNPERMITTED = ['unknown_sensor', 'sensor_quota']
const TOO_MUCH = ['malformed_json', 'body_too_large', 'batch_too_large']
const UNUSABLE = ['event_id_conflict', 'unsupported_media_type', ...TOO_MUCH]

interface Element {
  readonly event_id: string
  readonly sn: string
  readonly temp: number
  readonly timestamp: string
  /** When it was taken, where that was read from the clock: seconds since the boot. */
  readonly taken?: { readonly boot: string; readonly uptime: number }
}

/** What the service answers, as far as a daemon looks at it. */
interface Answer {
  readonly code?: string | undefined
  readonly server_time?: string
  readonly data?: { readonly measurements?: readonly { event_id: string; status: string }[] }
  readonly errors?: readonly { code: string; event_id?: string }[]
}

/** What becomes of an event, and why. */
type Verdict = Map<string, readonly ['delivered' | 'held' | 'rejected', string]>

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
      fs.appendFileSync(this.#fd!, `${JSON.stringify(element)}\n`, { flush: true })
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
    this.#endFile()
    return name === undefined ? undefined : { name, elements: readElements(name) }
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
    const file = join(SPOOL, name)
    try {
      fs.appendFileSync(file, text, { flush: true })
    } catch (error) {
      if (!isFull(error)) throw error
      fs.rmSync(join(SPOOL, 'ballast'), { force: true })
      fs.appendFileSync(file, text, { flush: true })
    }
    syncFolder()
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
    const names = fs.readdirSync(SPOOL).filter((name) => /^\d+\.ndjson$/.test(name))
    return names.toSorted()
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

function nameOf(number: number): string {
  return `${String(number).padStart(12, '0')}.ndjson`
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

let isGzipTaken = true
async function post(
  batch: readonly Element[],
): Promise<{ readonly status: number; readonly body: Answer; readonly askedMs: number }> {
  const text = JSON.stringify({ measurements: batch }, MEMBERS)
  try {
    const response = await fetch(`${URL_OF_SERVICE}/api/v1/measurements/batch`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'content-type': 'application/json',
        ...(isGzipTaken && { 'content-encoding': 'gzip' }),
      },
      body: isGzipTaken ? gzipSync(text) : text,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const { status, headers } = response
    const { code, ...body } = parseAnswer(await response.text())
    const askedMs = Math.min(Number(headers.get('retry-after')) * 1_000 || 0, RETRY_AFTER_MS_MAX)
    // A refusal of anything else is a proxy's or a hotspot's.
    const isOwn = !!headers.get('content-type')?.startsWith('application/problem+json')
    if (isOwn) return { status, body: { ...body, code }, askedMs }
    return { status, body: status < 300 ? { data: body.data ?? {} } : {}, askedMs }
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
function judge({ code = '', data, errors }: Answer, batch: readonly Element[]): Verdict {
  const verdict: Verdict = new Map()
  // Only what the receipt names: a 200 may be of somebody else on the way.
  for (const { event_id: id, status } of data?.measurements ?? []) {
    if (status === 'conflict') verdict.set(id, ['rejected', status])
    if (status === 'created' || status === 'duplicate') verdict.set(id, ['delivered', status])
  }
  for (const { event_id: id = '', code: fault } of errors ?? []) {
    const isEarly = UNPERMITTED.includes(code) || fault === 'timestamp_in_future'
    if (isEarly && !verdict.has(id)) verdict.set(id, ['held', fault])
    else if (!isEarly && code === 'validation_failed') verdict.set(id, ['rejected', fault])
  }
  // A batch that is too much is halved until it is one.
  const isUnusable = UNUSABLE.includes(code)
  for (const { event_id: id } of isUnusable ? batch : []) verdict.set(id, ['rejected', code])
  return verdict
}

let bootedAtMs = -Infinity
/** A clock that was never set is refused: the service's time tells when the system has started. */
function setClock({ server_time: now }: Answer, verdict: Verdict, batch: readonly Element[]) {
  const startedAtMs = Date.parse(now ?? '') - uptime() * 1_000
  return batch.map((element) => {
    const { event_id: id, taken, ...reading } = element
    const isRefused = verdict.get(id)?.[1] === 'timestamp_too_old'
    if (!isRefused || taken?.boot !== BOOT || Number.isNaN(startedAtMs)) return element
    verdict.set(id, ['held', 'timestamp_too_old'])
    bootedAtMs = startedAtMs
    const timestamp = new Date(bootedAtMs + taken.uptime * 1_000).toISOString()
    return { event_id: id, ...reading, timestamp }
  })
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
    if (isGzipTaken && body.code === 'unsupported_encoding') {
      isGzipTaken = false
      continue
    }
    const verdict = judge(body, left)
    const elements = setClock(body, verdict, left)
    const those = (decision: string) =>
      elements.flatMap((element) => {
        const [found, reason] = verdict.get(element.event_id) ?? []
        return found === decision ? [{ ...element, reason }] : []
      })
    const [rejected, held] = [those('rejected'), those('held')]
    spool.putInto('rejected.ndjson', rejected)
    spool.putInto('held.ndjson', held)
    if (those('delivered').length > 0) silentSinceMs = performance.now()
    else watchSilence(status, left.length)
    const before = left.length
    left = left.filter(({ event_id: id }) => !verdict.has(id))
    const isRefused = status >= 300 && status < 500 && status !== 408 && status !== 429
    if (isRefused || rejected.length + held.length > 0) {
      const codes = [...new Set([...rejected, ...held].map(({ reason }) => reason))].join(', ')
      const told = `status ${status} ${body.code ?? ''}: ${codes || 'everything is kept'}`
      const text = `${told}; server time ${body.server_time ?? '?'}`
      if (rejected.length > 0) alarm(text)
      else if (held.length > 0) alarm(text, `held ${codes}`, 24 * HOUR_MS)
      else alarm(text, `${status} ${body.code}`, HOUR_MS)
    }
    failures = left.length < before ? 0 : failures + 1
    const longestMs = Math.min(RETRY_MS_MAX, 2 ** Math.min(failures, 10) * 500)
    if (failures > 0) await setTimeout(Math.max(askedMs, longestMs * (0.5 + Math.random() / 2)))
  }
}

/** Sends for ever, and after the end of the input until nothing is left. */
async function sendAll(spool: Spool, isInputOver: () => boolean): Promise<void> {
  let releasedAtMs = -Infinity
  for (;;) {
    if (performance.now() - releasedAtMs > RETRY_MS_MAX) {
      spool.releaseHeld()
      releasedAtMs = performance.now()
    }
    const file = spool.take()
    if (file === undefined) {
      if (isInputOver() && !spool.hasHeld()) return
      silentSinceMs = performance.now()
      await setTimeout(200)
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
let isLosing = false
let isInputOver = false
const sending = sendAll(spool, () => isInputOver)
for await (const line of wholeLines(process.stdin)) {
  const nowMs = Math.max(Date.now(), Math.floor(bootedAtMs + uptime() * 1_000))
  const [, sn = '', temp = '', time] = READING.exec(line) ?? []
  const at = new Date(time === undefined ? nowMs : INSTANT.test(time) ? time : NaN)
  if (sn === '' || Number.isNaN(at.getTime())) {
    alarm(`no reading: ${line}`)
    continue
  }
  const id = uuid7(nowMs)
  const taken = time === undefined && { taken: { boot: BOOT, uptime: uptime() } }
  const timestamp = at.toISOString()
  const isKept = spool.keep({ event_id: id, sn, temp: Number(temp), timestamp, ...taken })
  if (isKept) process.stdout.write(`${id}\n`)
  else if (!isLosing) alarm('there is no room: new readings are lost until old ones are sent')
  isLosing = !isKept
}
isInputOver = true
await sending
