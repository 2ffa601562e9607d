// The servers that have the shards: on PostgreSQL one has the only shard, on Citus each worker has
// some, and its operator moves them. What is of one shard is sent straight to its server: nothing
// else takes part in it, and while one server is away the others work. A connection there is
// compared with what is recorded before its use; one of the coordinator would reach a worker that
// was replaced without a word.

import type pg from 'pg'
import type { Outcome } from '../../control/flow.ts'
import { UserShard } from '../../domain/shard.ts'
import type { Shards } from '../../domain/shard.ts'
import { SECOND_MS } from '../../domain/time.ts'
import type { Clock } from '../../ports/system.ts'
import { addressesOf, TakeoverUndecided, withConnection } from './connection.ts'
import { Database } from './database.ts'
import type { Sql } from './database.ts'
import { ageMsOf, momentNow } from './moment.ts'
import type { Moment } from './moment.ts'
import { sharing } from './sharing.ts'
import { FIND_PLACES, isUndecided } from './workers.ts'
import type { Place } from './workers.ts'

const FIND_SENSOR = 'SELECT shard FROM sensors WHERE id = $1 AND shard = ANY ($2::smallint[])'

/** To each server. */
const CONNECTIONS_MAX = 12
/**
 * Who has not looked for longer looks again before any use: a worker that was removed meanwhile
 * would take what it is sent for shards that it once had, or knew elsewhere.
 */
const LOOKED_MS_MAX = 5 * SECOND_MS
/** Up to so many are remembered, about 50 bytes each. */
const SENSORS_MAX = 100_000

/** A server, and the shards that it has: another object when they are others. */
export interface ShardServer {
  /** Its host and port, where there are several. */
  readonly name?: string
  readonly shards: readonly number[]
  readonly database: Database
}

type Greeting = (client: pg.ClientBase) => Promise<void>

interface Finding {
  readonly clock: Clock
  /** Of connections to the server of DATABASE_URL; commands compare nothing. */
  readonly greet?: Greeting
  readonly findServers?: FindServers
}

/** Finds the servers that have these shards: a URL for each, in order. */
export type FindServers = (shards: readonly number[]) => Promise<readonly string[]>

class NotThere extends Error {}

export class ShardServers implements Pick<Sql, 'run'> {
  readonly shards: Shards
  /** The server of DATABASE_URL: it has what is of no shard. */
  readonly main: Database
  /**
   * The same for ids, over a connection of its own, because others may wait for what a transaction
   * that needs ids has locked. `undefined`: a shard's server gives them itself.
   */
  readonly idGiver: Database | undefined
  readonly #findServers: FindServers
  readonly #open: (url: string) => Database
  /** By URL, of each server that has had a shard: it may get one again. */
  readonly #databases = new Map<string, Database>()
  readonly #clock: Clock
  #all: readonly ShardServer[]
  #lookedAt: Moment
  /** Of sensors: they never change. */
  readonly #sensorShards = new Map<number, number>()

  private constructor(
    main: Database,
    databaseUrl: string,
    shards: Shards,
    { clock, greet, findServers = serversFinder(main, databaseUrl) }: Finding,
  ) {
    this.main = main
    this.#clock = clock
    this.#lookedAt = momentNow(clock)
    this.shards = shards
    this.#findServers = findServers
    this.#all = shards.areSeveral ? [] : [{ shards: shards.numbers, database: main }]
    this.idGiver = shards.areSeveral ? new Database(databaseUrl, 1, greet && { greet }) : undefined
    const greeting = greet && { greet: greetingOfShards(shards, databaseUrl, greet) }
    this.#open = (url) => new Database(url, CONNECTIONS_MAX, greeting)
  }

  /** @param databaseUrl of `main` */
  static async find(main: Database, databaseUrl: string, finding: Finding): Promise<ShardServers> {
    const servers = new ShardServers(main, databaseUrl, await main.readShards(), finding)
    await servers.follow()
    return servers
  }

  /** In the order of their first shards. */
  get all(): readonly ShardServer[] {
    return this.#all
  }

  /** Finds the servers that have the shards now. Until then, Citus sends on what is for another. */
  readonly follow = sharing(async () => {
    if (!this.shards.areSeveral) return
    const { numbers } = this.shards
    const askedAt = momentNow(this.#clock)
    const urls = await this.#findServers(numbers)
    const ofServers = Map.groupBy(numbers, (_, at) => urls[at] ?? '')
    this.#all = [...ofServers].map(([url, own]) => this.#serverAt(url, own))
    this.#lookedAt = askedAt
  })

  /** Runs a statement on the server of the user whose shard it names; if none, on `main`. */
  async run(text: string, values: readonly unknown[] = []): Promise<Outcome> {
    const of = values.find((value) => value instanceof UserShard)
    const database = of === undefined ? this.main : await this.databaseOf(of.userId)
    return database.run(text, values)
  }

  databaseOf(userId: number): Promise<Database> {
    return this.databaseAt(this.shards.of(userId))
  }

  /** @throws ServiceError `overloaded`: where it is cannot be read now */
  async databaseAt(shard: number): Promise<Database> {
    if (ageMsOf(this.#lookedAt, this.#clock) > LOOKED_MS_MAX) await this.follow()
    return this.#all.find(({ shards }) => shards.includes(shard))?.database ?? this.main
  }

  /** @param sensorId of a sensor that is registered, or was; else its shard is the first one */
  async shardOfSensor(sensorId: number): Promise<number> {
    const [first = 0, ...others] = this.shards.numbers
    if (others.length === 0) return first
    const known = this.#sensorShards.get(sensorId)
    if (known !== undefined) return known
    const found = await this.#findSensor(sensorId)
    if (found === undefined) return first
    if (this.#sensorShards.size >= SENSORS_MAX) this.#sensorShards.clear()
    this.#sensorShards.set(sensorId, found)
    return found
  }

  /** Gives up what is under way on all servers. */
  cut(): void {
    for (const database of this.#databases.values()) database.cut()
    this.main.cut()
    this.idGiver?.cut()
  }

  async close(): Promise<void> {
    await this.idGiver?.close()
    for (const database of this.#databases.values()) await database.close()
  }

  #serverAt(url: string, shards: readonly number[]): ShardServer {
    const database = this.#databases.get(url) ?? this.#open(url)
    this.#databases.set(url, database)
    const isSame = (one: ShardServer) =>
      one.database === database && one.shards.join() === shards.join()
    return this.#all.find(isSame) ?? { name: nameOf(url), shards, database }
  }

  /** Asks each server by itself: that one is away matters only if no other has the sensor. */
  async #findSensor(sensorId: number): Promise<number | undefined> {
    const asked = this.#all.map(async ({ database, shards }) => {
      const [found] = await database.rows<{ shard: number }>(FIND_SENSOR, [sensorId, shards])
      return found?.shard
    })
    const found = asked.map(async (one) => (await one) ?? Promise.reject(new NotThere()))
    try {
      return await Promise.any(found)
    } catch {
      await Promise.all(asked)
      return undefined
    }
  }
}

/** On Citus they are workers, which have the same databases and users. */
export function serversFinder(
  database: Pick<Database, 'rows' | 'readShards'>,
  databaseUrl: string,
): FindServers {
  return async (shards) => {
    if (!(await database.readShards()).areSeveral) return shards.map(() => databaseUrl)
    const places = await database.rows<Place>(FIND_PLACES, [shards])
    return shards.map((shard) => {
      const place = places.find(({ number }) => number === shard)
      if (place === undefined) throw new Error(`BUG: shard ${shard} is nowhere`)
      return urlAt(databaseUrl, place)
    })
  }
}

/** The URL of another server with the same database and user. */
export function urlAt(databaseUrl: string, { host, port }: { host: string; port: number }): string {
  const [address = ''] = addressesOf(databaseUrl)
  const place = `host=${encodeURIComponent(host)}&port=${port}`
  return `${address}${address.includes('?') ? '&' : '?'}${place}`
}

/** @param url that `urlAt` made */
function nameOf(url: string): string {
  const { searchParams } = new URL(url)
  return ['host', 'port'].map((part) => searchParams.getAll(part).at(-1)).join(':')
}

const GREETING_MS_MAX = 10 * SECOND_MS

/**
 * What a connection to the server of a shard begins with: with several shards, the coordinator is
 * asked whether each worker is the recorded one, and then the worker itself. The connection was
 * opened before, so it is lost if its worker is replaced later. Connections that begin together
 * share the question to the coordinator, which asks all workers.
 *
 * @param greet of connections to the server of the URL
 */
export function greetingOfShards(shards: Shards, databaseUrl: string, greet: Greeting): Greeting {
  if (!shards.areSeveral) return greet
  const opening = { greet, statementMsMax: GREETING_MS_MAX }
  // Opening the connection asks.
  const askCoordinator = sharing(() => withConnection(databaseUrl, async () => undefined, opening))
  return async (client) => {
    await askCoordinator()
    if (await isUndecided(client)) throw new TakeoverUndecided()
  }
}
