// Watches which data the server has, whether it is safe to use, and whether its clock agrees with
// ours. Answers are those of the last look, so that none waits for the database.

import { hostname } from 'node:os'
import type pg from 'pg'
import { SECOND_MS } from '../../domain/time.ts'
import type { DataIdentity } from '../../ports/control-reader.ts'
import type { Clock, ClockDoubt, DatabaseState, DatabaseWatch, Log } from '../../ports/system.ts'
import type { Database } from './database.ts'
import type { Durability } from './durability.ts'
import { OUT_OF_REACH_DETAIL } from './failures.ts'
import { readServerState, REFUSED } from './server-check.ts'
import type { ServerState } from './server-check.ts'
import { isSameServer, isSettled, lookAtServer } from './recorded-server.ts'
import type { Look, RecordedServer } from './recorded-server.ts'
import type { SeenStreams } from './seen-streams.ts'

const LOOK_EVERY_MS = SECOND_MS
/**
 * After this without an answer, beside what the last one took, or after two failures, the database
 * is out of reach. Workers that stand still make an answer late.
 */
const SILENT_MS_MAX = 5 * SECOND_MS
/** In addition to the time that the query takes. */
const CLOCK_OFF_MS_MAX = 10 * SECOND_MS
const LOOKS_OFF_MIN = 3

interface Collaborators {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  readonly seen: SeenStreams
}

interface Settings {
  /** Names this process. */
  readonly process: string
  readonly durability: Durability
  /** As of the start. */
  readonly identity: DataIdentity
  readonly server: ServerState
  /**
   * Notices a takeover. Connections do so when they begin, but a connection to the coordinator
   * outlives its workers.
   */
  readonly notice?: (client: pg.ClientBase) => Promise<void>
}

export class PostgresServerWatch implements DataIdentity, DatabaseWatch {
  readonly #with: Collaborators
  readonly #settings: Settings
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #isRecording = false
  #answeredAtMs: number
  #answerMs = 0
  /** Workers that did not answer then. */
  #away: readonly string[] = []
  /** In a row. */
  #failures = 0
  /** What the last looks found wrong with the clock; empty if the last one found nothing. */
  #clockFaults: string[] = []
  #identity: DataIdentity
  #server: ServerState

  constructor(collaborators: Collaborators, settings: Settings) {
    this.#with = collaborators
    this.#settings = settings
    this.#identity = settings.identity
    this.#server = settings.server
    this.#answeredAtMs = collaborators.clock.monotonicMs()
  }

  get id(): string {
    return this.#identity.id
  }

  get restoredToMs(): number | null {
    return this.#identity.restoredToMs
  }

  get state(): DatabaseState {
    const { process, durability } = this.#settings
    const { version, name, warnings } = this.#server
    return { process, server: `PostgreSQL ${version}`, name, durability, warnings: [...warnings] }
  }

  get fault(): string | undefined {
    const silentMs = this.#with.clock.monotonicMs() - this.#answeredAtMs
    if (silentMs > SILENT_MS_MAX + this.#answerMs || this.#failures > 1) return OUT_OF_REACH_DETAIL
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
    const { database, clock, log, seen } = this.#with
    const begunAtMs = clock.monotonicMs()
    try {
      const askedAtMs = clock.nowMs()
      const { look, epoch } = await database.onClient((client) => this.#read(client))
      const { recorded } = look
      this.#compareClocks(askedAtMs, recorded)
      seen.noteLook(recorded, epoch)
      this.#identity = recorded
      const server = await readServerState(database, this.#settings.durability)
      const away = awayOf(look)
      const refused = away.map((worker) => `${worker}: ${REFUSED}`)
      this.#note({ ...server, warnings: [...server.warnings, ...refused] })
      this.#noteAway(away)
      this.#answeredAtMs = clock.monotonicMs()
      this.#answerMs = this.#answeredAtMs - begunAtMs
      this.#failures = 0
    } catch (error) {
      this.#failures++
      log.debug('cannot look at the database now', { error: String(error) })
    } finally {
      this.#isLooking = false
    }
  }

  async #read(client: pg.ClientBase) {
    const { seen } = this.#with
    const { notice } = this.#settings
    const before = seen.epoch
    const look = await lookAtServer(client, before)
    if (notice === undefined || isSettled(look)) return { look, epoch: before }
    if (isSameServer(look)) {
      void this.#record(notice)
      return { look, epoch: before }
    }
    await notice(client)
    const { epoch } = seen
    return { look: await lookAtServer(client, epoch), epoch }
  }

  /** Records a new worker, for which Citus lets nobody change the record while it copies that. */
  async #record(notice: (client: pg.ClientBase) => Promise<void>): Promise<void> {
    if (this.#isRecording) return
    this.#isRecording = true
    try {
      await this.#with.database.onClient(notice)
    } catch (error) {
      this.#with.log.debug('cannot record a worker now', { error: String(error) })
    } finally {
      this.#isRecording = false
    }
  }

  #compareClocks(askedAtMs: number, { serverTimeMs }: RecordedServer): void {
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

  #noteAway(away: readonly string[]): void {
    for (const worker of this.#away) {
      if (!away.includes(worker)) this.#with.log.info(`${worker} can be used again`)
    }
    this.#away = away
  }
}

function awayOf({ server: { workers } }: Look): string[] {
  const away = workers.filter(({ answer, shards }) => answer === null && shards.length > 0)
  return away.map(({ host, port }) => `worker ${host}:${port}`)
}
