// What a process forwards and deletes on each server of the database, apart, so that none waits for
// another one. Citus moves shards between servers: whoever had any of them ends, and another one
// begins with what its server has then.

import { SECOND_MS } from '../domain/time.ts'
import { Forwarding } from '../ingest/forwarding.ts'
import type { StoreState } from '../ingest/forwarding.ts'
import type { Clock, Log } from '../ports/system.ts'
import { createDeletionJobs } from '../postgres/control/deletion-jobs.ts'
import { UserDeletions } from '../postgres/control/user-deletions.ts'
import type { PostgresForwardProgress } from '../postgres/journal/forward-progress.ts'
import { PostgresJournalQueue } from '../postgres/journal/journal-queue.ts'
import { PostgresMeasurementWriter } from '../postgres/measurements/measurement-writer.ts'
import { unlessAway } from '../postgres/server/database.ts'
import type { ShardServer, ShardServers } from '../postgres/server/shard-servers.ts'
import { PostgresLeases } from '../postgres/shared/leases.ts'
import { pause } from '../system/pause.ts'

interface Collaborators {
  readonly servers: ShardServers
  readonly progress: PostgresForwardProgress
  readonly state: StoreState
  readonly clock: Clock
  readonly log: Log
}

interface OpenForwarding {
  readonly queue: PostgresJournalQueue
  readonly forwarding: Forwarding
}

const FOLLOW_EVERY_MS = SECOND_MS

/** Enough for summaries to pay off: 181,000 rows a second, measured with batches of 5,000. */
const FORWARDING = { batchMeasurementsMax: 8_000, isStoreApart: false }

export class ServerForwardings {
  readonly #with: Collaborators
  readonly #owner: string
  readonly #open = new Map<ShardServer, OpenForwarding>()
  /** What ends: it waits for servers that may be away. */
  readonly #ending = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #following: Promise<void> | undefined

  /** @param owner names this process */
  constructor(of: Collaborators, owner: string) {
    this.#with = of
    this.#owner = owner
  }

  start(): void {
    for (const server of this.#with.servers.all) this.#begin(server)
    if (!this.#with.servers.shards.areSeveral) return
    this.#timer = setInterval(() => {
      this.#following ??= this.#follow()
    }, FOLLOW_EVERY_MS).unref()
  }

  /** This process has committed rows. */
  notify(): void {
    for (const { queue } of this.#open.values()) queue.notify()
  }

  /** A reader waits for what is in the journal now. */
  hurry(): void {
    for (const { forwarding } of this.#open.values()) forwarding.hurry()
  }

  /** Gives up the leases, too. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#following
    for (const server of this.#open.keys()) this.#end(server)
    await Promise.all(this.#ending)
  }

  #begin(server: ShardServer): void {
    const { state, ...of } = this.#with
    const noteState = (isWorking: boolean) => {
      if (this.#open.has(server)) state.note(isWorking, server)
    }
    const ofServer = { ...of, server }
    const queue = new PostgresJournalQueue(ofServer, this.#owner)
    const collaborators = {
      ...ofServer,
      queue,
      noteState,
      jobs: createDeletionJobs(server),
      leases: new PostgresLeases(of.servers.main, server.shards),
      writer: new PostgresMeasurementWriter(server.database),
      pause,
    }
    const forwarding = new Forwarding(collaborators, FORWARDING, [new UserDeletions(ofServer)])
    this.#open.set(server, { queue, forwarding })
    forwarding.start()
  }

  #end(server: ShardServer): void {
    const open = this.#open.get(server)
    if (open === undefined) return
    this.#open.delete(server)
    this.#with.state.forget(server)
    const ending = this.#close(open).finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }

  async #close({ queue, forwarding }: OpenForwarding): Promise<void> {
    try {
      await forwarding.close()
      await unlessAway(() => queue.close(), undefined)
    } catch (error) {
      this.#with.log.error('cannot end forwarding', { error: String(error) })
    }
  }

  async #follow(): Promise<void> {
    const { servers, log } = this.#with
    try {
      await servers.follow()
      const begun = servers.all.filter((server) => !this.#open.has(server))
      const ended = [...this.#open.keys()].filter((server) => !servers.all.includes(server))
      for (const server of begun) this.#begin(server)
      for (const server of ended) this.#end(server)
      for (const { name, shards } of begun) {
        log.info('a server has other shards now', { server: name, shards: shards.length })
      }
    } catch (error) {
      log.debug('cannot look where the shards are now', { error: String(error) })
    } finally {
      this.#following = undefined
    }
  }
}
