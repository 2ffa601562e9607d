// Forwarding with all that belongs to it, for every engine: the journal goes to the measurement
// store, and what is deleted leaves the store.

import { MINUTE_MS, SECOND_MS } from '../domain/time.ts'
import { Forwarder } from './forwarder.ts'
import type { ForwarderCollaborators, ForwarderSettings } from './forwarder.ts'
import { SensorDeletions } from './sensor-deletions.ts'
import type { SensorDeletionsCollaborators } from './sensor-deletions.ts'

type Collaborators = Omit<
  ForwarderCollaborators & SensorDeletionsCollaborators,
  'lastUnknownOutcomeAtMs' | 'random'
>

/** Work that goes on until it is stopped. */
interface Task {
  start(): void
  /** Lets what is under way finish. */
  stop(): Promise<void>
}

const DELETIONS = { passGapMs: 10 * MINUTE_MS, lookEveryMs: SECOND_MS }

/** Work under way may take this long at the end; another process or the next start repeats it. */
const STOP_MS_MAX = 2 * SECOND_MS

/** What the writes to the store say of it. */
export class StoreState {
  /** Whether the last one succeeded. */
  isWorking = true
  /** How many failed. */
  failures = 0

  note(isWorking: boolean): void {
    this.isWorking = isWorking
    if (!isWorking) this.failures++
  }
}

export class Forwarding {
  readonly #with: Collaborators
  readonly #forwarder: Forwarder
  readonly #tasks: readonly Task[]

  /** @param others what is to begin and end with it */
  constructor(of: Collaborators, settings: ForwarderSettings, others: readonly Task[] = []) {
    const collaborators = { ...of, random: Math.random }
    const forwarder = new Forwarder(collaborators, settings)
    const lastUnknownOutcomeAtMs = () => forwarder.lastUnknownOutcomeAtMs
    const deletions = new SensorDeletions(
      { ...collaborators, lastUnknownOutcomeAtMs },
      // A store apart can bring back what it has deleted.
      { ...DELETIONS, passesMin: settings.isStoreApart ? 2 : 1 },
    )
    this.#with = of
    this.#forwarder = forwarder
    this.#tasks = [forwarder, deletions, ...others]
  }

  start(): void {
    for (const task of this.#tasks) task.start()
  }

  /** A reader waits for what is in the journal now. */
  hurry(): void {
    this.#forwarder.hurry()
  }

  /** Resolves when nothing is under way, which may be never while a database is away. */
  async stop(): Promise<void> {
    await Promise.all(this.#tasks.map((task) => task.stop()))
  }

  /** Stops, but not for longer than the time for that, and closes the store. */
  async close(): Promise<void> {
    const { pause, writer } = this.#with
    const grace = new AbortController()
    await Promise.race([this.stop(), pause(STOP_MS_MAX, grace.signal)])
    grace.abort()
    // Aborts requests to a store that does not respond.
    await writer.close()
  }
}
