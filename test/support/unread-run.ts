// Makes requests of a row many times, reads no answer, and says what that was for the service.

import { openFiles, ProcessWatch } from './process-watch.ts'
import { UnreadClients } from './unread-clients.ts'
import { ENDLESS } from './unread-requests.ts'
import type { UnreadRequest } from './unread-requests.ts'
import type { UnreadService } from './unread-service.ts'
import { until, within } from './until.ts'

const MEMORY_GROWTH_BYTES_MAX = 80 * 2 ** 20
/** Longer answers have places. */
const SMALL_BYTES_MAX = 64 * 1_024
const ANSWERED_MS_MAX = 10_000
/** Files and connections that come and go beside those of the clients. */
const OTHER_FILES = 32
/** Of all that is long, something is answered as soon as nobody is in the way. */
const AFTERWARDS = [
  '/api/v1/sensors',
  '/api/v1/sensors/1/measurements',
  '/query?q=SHOW+TAG+VALUES+FROM+%22sensor%22+WITH+KEY+%3D+%22sn%22',
]

/** How a row is asked for. */
export interface UnreadOrder {
  /** With one request each. */
  readonly connections: number
  /** With 64 requests each. */
  readonly pipelines: number
  /** The row is over when the service has come to rest, and at the latest then. */
  readonly msMax: number
}

/** What it was for the service. */
export interface UnreadFigures {
  readonly what: string
  /** Of one that was read. */
  readonly status: number
  readonly bytes: number
  readonly asked: number
  readonly beforeBytes: number
  readonly peakBytes: number
  readonly tookMs: number
  readonly fault: string | undefined
}

/** Asks once and reads. */
async function askAndRead(
  service: UnreadService,
  request: UnreadRequest,
): Promise<{ status: number; bytes: number }> {
  if (request.path.startsWith(ENDLESS)) return { status: 200, bytes: 0 }
  const { method, path, type, body, token = 'daemon' } = request
  const headers = type === undefined ? {} : { 'content-type': type }
  const order = { method, path, headers, ...(body !== undefined && { body }) }
  const { status, text } = await service.ask(order, token)
  return { status, bytes: Buffer.byteLength(text) }
}

/** Asks as often as ordered, and leaves when the service has done what it does about it. */
export async function askUnread(
  service: UnreadService,
  request: UnreadRequest,
  { connections, pipelines, msMax }: UnreadOrder,
): Promise<UnreadFigures> {
  const token = await service.tokenFor(request.token)
  // What another row left as garbage would hide what this one costs.
  service.collect()
  // What the service makes once for all is made now.
  const { status, bytes } = await askAndRead(service, request)
  const isLong = bytes > SMALL_BYTES_MAX
  const { pid, residentBytes: beforeBytes } = service
  const startMs = performance.now()
  const filesBefore = openFiles(pid)
  const clients = new UnreadClients(service.url)
  const watch = new ProcessWatch(pid)
  const isTooMuch = () => watch.peakBytes > beforeBytes + MEMORY_GROWTH_BYTES_MAX
  let fault: string | undefined
  try {
    clients.askOnce(connections, request, token)
    clients.pipeline(pipelines, request, token)
    const endMs = startMs + msMax
    await until('the service rests', () => {
      const isDone = clients.areConnected && watch.isResting
      return isDone || isTooMuch() || !service.isAlive || performance.now() > endMs
    })
    if (clients.readBytes > 0) throw new Error(`BUG: ${clients.readBytes} bytes were read`)
    clients.close()
    await until('the connections of the clients have ended', () => {
      return !service.isAlive || openFiles(pid) <= filesBefore + OTHER_FILES
    })
    if (service.isAlive) await expectPlaces(service, isLong ? AFTERWARDS : ['/healthz'])
  } catch (cause) {
    fault = String(cause)
  } finally {
    clients.close()
    watch.end()
  }
  if (isTooMuch()) fault = 'too much memory'
  if (!service.isAlive) fault = 'the service has ended'
  return {
    status,
    bytes,
    beforeBytes,
    fault,
    what: request.what,
    asked: clients.asked,
    peakBytes: watch.peakBytes,
    tookMs: Math.round(performance.now() - startMs),
  }
}

/** As a line of a report. */
export function shownFigures(figures: UnreadFigures): string {
  const { what, status, bytes, asked, beforeBytes, peakBytes, tookMs, fault = 'held' } = figures
  const request = `${what} (${status}, ${bytes} bytes), ${asked} requests`
  return `${request}: ${beforeBytes >> 20} MB, then ${peakBytes >> 20} MB, ${tookMs} ms: ${fault}`
}

/** Whether all places have come back. @throws Error that says what is not answered */
export async function expectPlaces(
  service: UnreadService,
  paths: readonly string[] = AFTERWARDS,
): Promise<void> {
  for (const path of paths) {
    const answer = service.ask({ path }, 'daemon')
    const { status } = await within(`${path} is answered`, answer, ANSWERED_MS_MAX)
    if (status !== 200) throw new Error(`${path}: ${status}`)
  }
}
