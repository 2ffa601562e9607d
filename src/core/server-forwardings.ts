// What a process forwards and deletes on each server of the database, apart, so that none waits for
// another one. Citus moves shards between servers: whoever had any of them ends, and another one
// begins with what its server has then.

import { SECOND_MS } from '../domain/time.ts'
import type { Forwarding, StoreState } from '../ingest/forwarding.ts'
import type { Clock, Log } from '../ports/system.ts'
import type { PostgresForwardProgress } from '../postgres/journal/forward-progress.ts'
import { PostgresJournalQueue } from '../postgres/journal/journal-queue.ts'
import { unlessAway } from '../postgres/server/database.ts'
import type { ShardServer, ShardServers } from '../postgres/server/shard-servers.ts'
import { databaseForwarding } from './database-store.ts'
import type { DatabaseStore } from './database-store.ts'
import type { retentionOf } from './measurement-store.ts'

interface Collaborators {
  readonly servers: ShardServers
  readonly progress: PostgresForwardProgress
  readonly store: DatabaseStore
  readonly state: StoreState
  readonly clock: Clock
  readonly log: Log
}

interface Settings {
  /** Names this process. */
  readonly owner: string
  /** Of all shards. */
  readonly retention: ReturnType<typeof retentionOf>
}

interface OpenForwarding {
  readonly queue: PostgresJournalQueue
  readonly forwarding: Forwarding
}

const FOLLOW_EVERY_MS = SECOND_MS

export class ServerForwardings {
  readonly #with: Collaborators
  readonly #settings: Settings
  readonly #open = new Map<ShardServer, OpenForwarding>()
  /** What ends: it waits for servers that may be away. */
  readonly #ending = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #following: Promise<void> | undefined

  constructor(of: Collaborators, settings: Settings) {
    this.#with = of
    this.#settings = settings
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
    const { store, state, ...of } = this.#with
    const noteState = (isWorking: boolean) => {
      if (this.#open.has(server)) state.note(isWorking, server)
    }
    const { owner, retention } = this.#settings
    const share = server.shards.length / of.servers.shards.numbers.length
    const kept = retention && {
      ...retention,
      measurementsMax: Math.ceil(retention.measurementsMax * share),
    }
    const queue = new PostgresJournalQueue({ ...of, server }, { owner, retention: kept })
    const forwarding = databaseForwarding({ ...of, server, queue, noteState }, store)
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
