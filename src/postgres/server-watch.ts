// Which data the server has, and whether it is safe to use: as of the last look, so that a question
// never waits for the database.

import { SECOND_MS } from '../domain/time.ts'
import type { DataIdentity } from '../ports/control-reader.ts'
import type { Clock, DatabaseState, DatabaseWatch, Log } from '../ports/system.ts'
import type { Database } from './database.ts'
import type { Durability } from './durability.ts'
import { readServerState } from './server-check.ts'
import type { ServerState } from './server-check.ts'

const LOOK_EVERY_MS = SECOND_MS
/** After this without an answer, or two failures, the database is out of reach. */
const SILENT_MS_MAX = 5 * SECOND_MS

const IDENTITY = 'SELECT id, restored_to_ms AS "restoredToMs" FROM data_identity'

interface Collaborators {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
}

interface Settings {
  /** Which process this is. */
  readonly process: string
  readonly durability: Durability
  /** At the start. */
  readonly identity: DataIdentity
  readonly server: ServerState
}

export class PostgresServerWatch implements DataIdentity, DatabaseWatch {
  readonly #with: Collaborators
  readonly #settings: Settings
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #answeredAtMs: number
  /** One after the other. */
  #failures = 0
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
    if (silentMs > SILENT_MS_MAX || this.#failures > 1) return 'The database is out of reach.'
    return this.#server.faults[0]
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#look(), LOOK_EVERY_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const { database, clock, log } = this.#with
    try {
      const [identity] = await database.rows<DataIdentity>(IDENTITY)
      if (identity !== undefined) this.#identity = identity
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
