// The service as its own process, with a user whose answers are long: many sensors with long names,
// and as many sessions and tokens as a user may have.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sessionsPerUserMax } from '../../src/domain/limits.ts'
import { serve } from './command.ts'
import type { RunningService } from './command.ts'
import { createFleetToken } from './fleet-token.ts'
import { ForgingProvider } from './forging-provider.ts'
import { send, sendBatches, sendUnchecked } from './http.ts'
import type { TestAnswer, TestRequest } from './http.ts'
import { residentBytes } from './process-watch.ts'
import { until } from './until.ts'

const HOSTILE = 'hostile@example.org'
const OTHER = 'other@example.org'
const MOBILE = '/api/mobile/v1'
const REDIRECT_URI = 'org.example.thermolog:/callback'
const GRANT = { code_verifier: 'v'.repeat(43), redirect_uri: REDIRECT_URI }
const AT_ONCE = 16
/** As long as they may be. */
const SERIAL_NUMBER_CHARACTERS = 64
const ALIAS = '\u{1d11e}'.repeat(120)
/** On a signal the process collects its garbage: what is left is what it keeps. */
const COLLECTS = "--expose-gc --import=data:text/javascript,process.on('SIGUSR2',()=>gc())"
const MAJOR_COLLECTIONS = /^nodejs_gc_duration_seconds_count\{[^}]*kind="major"[^}]*\} (\d+)/m
const HEAP_USED = /^nodejs_heap_size_used_bytes (\d+)/m

export class UnreadService {
  readonly #provider = new ForgingProvider(Date.now)
  readonly #tokens = { daemon: '', mobile: '', other: '' }
  #dataDir = ''
  #running: RunningService | undefined

  /**
   * The hostile user is the first to have sensors.
   *
   * @param named so many of them also get long names, which takes a commit each
   */
  async start({ sensors, named }: { sensors: number; named: number }): Promise<void> {
    this.#dataDir = await mkdtemp(join(tmpdir(), 'thermolog-unread-'))
    this.#tokens.daemon = await createFleetToken(this.#dataDir, HOSTILE)
    this.#tokens.other = await createFleetToken(this.#dataDir, OTHER)
    this.#provider.forgery = { claims: { email: HOSTILE } }
    await this.#provider.start()
    await this.restart()
    const measurements = Array.from({ length: sensors }, (_, at) => {
      return {
        event_id: `first-${at}`,
        sn: `${at}-`.padEnd(SERIAL_NUMBER_CHARACTERS, 's'),
        temp: at % 50,
      }
    })
    await sendBatches(this.url, this.#tokens.daemon, measurements)
    await each(named, (at) => this.#rename(at + 1))
    await each(sessionsPerUserMax, () => this.#signIn())
    await this.#signIn()
  }

  /** In place of the process that runs, which may have ended. */
  async restart(): Promise<void> {
    if (this.isAlive) await this.#running?.stop('SIGKILL')
    this.#running = await serve(this.#dataDir, {
      RATE_LIMIT_REQUESTS: '0',
      RATE_LIMIT_MEASUREMENTS: '0',
      RATE_LIMIT_SIGN_IN: '0',
      MAX_SENSORS_PER_USER: '20000',
      // The provider of the examples in the document.
      IDP_ACME_ISSUER: this.#provider.issuer,
      IDP_ACME_CLIENT_ID: 'thermolog-app',
      MOBILE_REDIRECT_URIS: REDIRECT_URI,
      NODE_OPTIONS: COLLECTS,
    })
  }

  async stop(): Promise<void> {
    await this.#running?.stop()
    await this.#provider.stop()
    await rm(this.#dataDir, { recursive: true })
  }

  get url(): string {
    return this.#running?.url ?? ''
  }

  get pid(): number {
    return this.#running?.child.pid ?? 0
  }

  get isAlive(): boolean {
    const { exitCode = 0, signalCode = null } = this.#running?.child ?? {}
    return exitCode === null && signalCode === null
  }

  get residentBytes(): number {
    return residentBytes(this.pid)
  }

  /** A token of the hostile user that works: some requests end their own session. */
  async tokenFor(kind: 'daemon' | 'mobile' | undefined): Promise<string> {
    if (kind !== 'mobile') return this.#tokens.daemon
    const order = { path: `${MOBILE}/me`, token: this.#tokens.mobile }
    if ((await send(this.url, order)).status !== 200) await this.#signIn()
    return this.#tokens.mobile
  }

  /** Of the user who has to be served. @throws Error unless it is stored */
  async submitOfOther(): Promise<void> {
    const { status, text } = await send(this.url, {
      method: 'POST',
      path: '/api/v1/measurements',
      token: this.#tokens.other,
      body: { event_id: crypto.randomUUID(), sn: 'other', temp: 20 },
    })
    if (status !== 201) throw new Error(`${status}: ${text}`)
  }

  /** Has the garbage collected before the next request is answered. */
  collect(): void {
    process.kill(this.pid, 'SIGUSR2')
  }

  /** Bytes of the heap that are in use after a collection. */
  async heapAfterCollection(): Promise<number> {
    const figure = async (pattern: RegExp) => {
      const { text } = await sendUnchecked(this.url, { path: '/metrics' })
      return Number(pattern.exec(text)?.[1] ?? 0)
    }
    const before = await figure(MAJOR_COLLECTIONS)
    this.collect()
    await until('the garbage is collected', async () => (await figure(MAJOR_COLLECTIONS)) > before)
    return figure(HEAP_USED)
  }

  /** As clients that read do it, so many at once. */
  async readLists(readers: number, lists: number): Promise<void> {
    const read = () => this.ask({ path: '/api/v1/sensors' }, 'daemon')
    await each(lists, () => read().then(() => undefined), readers)
  }

  /** Asks as the hostile user does, and reads the answer. */
  async ask(order: TestRequest, kind: 'daemon' | 'mobile'): Promise<TestAnswer> {
    return sendUnchecked(this.url, { ...order, token: await this.tokenFor(kind) })
  }

  async #rename(id: number): Promise<void> {
    const path = `/api/v1/sensors/${id}`
    const body = { alias: `${ALIAS}${id}` }
    const order = { method: 'PATCH', path, token: this.#tokens.daemon, body }
    const { status, text } = await sendUnchecked(this.url, order)
    if (status !== 200) throw new Error(`${status}: ${text}`)
  }

  async #signIn(): Promise<void> {
    // A code of its own: with the same one it would be the same session.
    const body = { ...GRANT, code: crypto.randomUUID() }
    const order = { method: 'POST', path: `${MOBILE}/auth/acme`, body }
    await until('the hostile user is signed in', async () => {
      const answer = await send(this.url, order)
      this.#tokens.mobile = answer.body.data?.token ?? ''
      return this.#tokens.mobile !== ''
    })
  }
}

/** Some at once, until it was done so often. */
async function each(
  times: number,
  act: (at: number) => Promise<void>,
  atOnce = AT_ONCE,
): Promise<void> {
  let next = 0
  const goOn = async () => {
    while (next < times) await act(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, goOn))
}
