// Watches which data the server has, whether it is safe to use, and whether its clock agrees with
// ours. Answers are those of the last look, so that none waits for the database.

import { hostname } from 'node:os'
import type pg from 'pg'
import { DAY_MS, SECOND_MS } from '../../domain/time.ts'
import type { DataIdentity } from '../../ports/control-reader.ts'
import type { Clock, ClockDoubt, DatabaseState, DatabaseWatch, Log } from '../../ports/system.ts'
import { readRow } from './connection.ts'
import { unlessAway } from './database.ts'
import type { Database } from './database.ts'
import type { Durability } from './durability.ts'
import { OUT_OF_REACH_DETAIL } from './failures.ts'
import { readServerState } from './server-check.ts'
import type { ServerState } from './server-check.ts'
import type { Guard } from './greetings.ts'
import { inTransaction } from './restore.ts'
import { SERVER_TIME_MS } from './server-time.ts'

const LOOK_EVERY_MS = SECOND_MS
/** After this without an answer, or after two failures, the database is out of reach. */
const SILENT_MS_MAX = 5 * SECOND_MS
/** In addition to the time that the query takes. */
const CLOCK_OFF_MS_MAX = 10 * SECOND_MS
const LOOKS_OFF_MIN = 3

interface Collaborators {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  readonly guard: Guard
}

interface Settings {
  /** Names this process. */
  readonly process: string
  readonly durability: Durability
  /** As of the start. */
  readonly server: ServerState
}

/** A beat of the process `$1`. */
export const BEAT = `
  INSERT INTO beats AS b (process, beat, at_ms) VALUES ($1, 1, ${SERVER_TIME_MS})
  ON CONFLICT (process) DO UPDATE SET beat = b.beat + 1, at_ms = excluded.at_ms
  RETURNING beat, at_ms AS "atMs"`
/** Of processes that have ended: nobody sleeps for so long. */
const FORGET = `DELETE FROM beats WHERE at_ms < ${SERVER_TIME_MS} - ${7 * DAY_MS}`

export class PostgresServerWatch implements DataIdentity, DatabaseWatch {
  readonly #with: Collaborators
  readonly #settings: Settings
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #answeredAtMs: number
  /** In a row. */
  #failures = 0
  /** What the last looks found wrong with the clock; empty if the last one found nothing. */
  #clockFaults: string[] = []
  #server: ServerState

  constructor(collaborators: Collaborators, settings: Settings) {
    this.#with = collaborators
    this.#settings = settings
    this.#server = settings.server
    this.#answeredAtMs = collaborators.clock.monotonicMs()
  }

  get id(): string {
    return this.#with.guard.known.id
  }

  get restoredToMs(): number | null {
    return this.#with.guard.known.restoredToMs
  }

  get state(): DatabaseState {
    const { process, durability } = this.#settings
    const { version, name, warnings } = this.#server
    return { process, server: `PostgreSQL ${version}`, name, durability, warnings: [...warnings] }
  }

  get fault(): string | undefined {
    const silentMs = this.#with.clock.monotonicMs() - this.#answeredAtMs
    if (silentMs > SILENT_MS_MAX || this.#failures > 1) return OUT_OF_REACH_DETAIL
    return this.#server.faults[0]
  }

  get doubt(): ClockDoubt | undefined {
    const detail = this.#clockFaults[LOOKS_OFF_MIN - 1]
    return detail === undefined ? undefined : { detail }
  }

  /** A process whose clock is moved is off the database's. */
  isOfNow(): boolean {
    return true
  }

  /** Looks until it is certain whether the clock agrees; from then on, regularly. */
  async start(): Promise<void> {
    await unlessAway(() => this.#with.database.change(FORGET), 0)
    for (let looks = 0; looks < LOOKS_OFF_MIN; looks++) {
      await this.#look()
      if (this.#clockFaults.length === 0) break
    }
    this.#timer ??= setInterval(() => void this.#look(), LOOK_EVERY_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const { database, guard, clock, log } = this.#with
    try {
      const askedAtMs = clock.nowMs()
      const serverTimeMs = await database.onClient((client) => beat(client, guard))
      this.#compareClocks(askedAtMs, serverTimeMs)
      this.#note(await readServerState(database, this.#settings.durability))
      this.#answeredAtMs = clock.monotonicMs()
      this.#failures = 0
    } catch (error) {
      this.#failures++
      log.debug('cannot look at the database now', { error: String(error) })
    } finally {
      this.#isLooking = false
    }
  }

  #compareClocks(askedAtMs: number, serverTimeMs: number): void {
    const { clock, log } = this.#with
    const answeredAtMs = clock.nowMs()
    const isBehind = serverTimeMs > answeredAtMs + CLOCK_OFF_MS_MAX
    const isAhead = serverTimeMs < askedAtMs - CLOCK_OFF_MS_MAX
    const wasOff = this.doubt !== undefined
    if (isBehind || isAhead) {
      const [here, there] = [answeredAtMs, serverTimeMs].map((ms) => new Date(ms).toISOString())
      const fault = `The clock of ${hostname()} says ${here}, that of the database ${there}.`
      this.#clockFaults = [fault, ...this.#clockFaults.slice(0, LOOKS_OFF_MIN - 1)]
    } else this.#clockFaults = []
    const isOff = this.doubt !== undefined
    if (isOff && !wasOff) log.error('nothing is accepted', { reason: this.#clockFaults[0] })
    if (wasOff && !isOff) log.info('the clock agrees with that of the database again')
  }

  #note(server: ServerState): void {
    const { log } = this.#with
    const known = new Set([...this.#server.faults, ...this.#server.warnings])
    for (const fault of server.faults) {
      if (!known.has(fault)) log.error('nothing can be acknowledged', { reason: fault })
    }
    for (const warning of server.warnings) {
      if (!known.has(warning)) log.warn(warning, { postgresql: server.version })
    }
    this.#server = server
  }
}

/** Data that lack it are a restored copy. @returns the server's time */
async function beat(client: pg.ClientBase, { known, greet }: Guard): Promise<number> {
  await greet(client)
  const { reached } = known
  const written = await inTransaction(client, () =>
    readRow<{ beat: number; atMs: number }>(client, BEAT, [known.process]),
  )
  if (reached !== undefined) known.noteBeat({ ...reached, beat: written.beat })
  return written.atMs
}
