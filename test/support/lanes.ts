// Lanes on a PostgreSQL of a test: what they commit, and a proxy between that loses answers.

import { createServer, connect } from 'node:net'
import type { Server, Socket } from 'node:net'
import pg from 'pg'
import type { Receipt } from '../../src/domain/measurement.ts'
import { ONE_SHARD } from '../../src/domain/shard.ts'
import type { Shards } from '../../src/domain/shard.ts'
import { Database } from '../../src/postgres/server/database.ts'
import type { Sql } from '../../src/postgres/server/database.ts'
import type { Durability } from '../../src/postgres/server/durability.ts'
import { greetingOfShards, serversFinder } from '../../src/postgres/server/shard-servers.ts'
import { PostgresSubmissionCommitter } from '../../src/postgres/stream/submission-committer.ts'
import { noticeTakeover } from '../../src/postgres/server/notice-takeover.ts'
import type { Witness } from '../../src/postgres/server/notice-takeover.ts'
import { SeenStreams } from '../../src/postgres/server/seen-streams.ts'
import type { SubmissionOutcome } from '../../src/ports/submissions.ts'
import { systemClock as clock } from '../../src/system/clock.ts'
import { measurement, PERMISSIVE, submission } from '../contract/open-data.ts'

/** The server that has the first shard of a database. */
export interface LaneServer {
  readonly url: string
  /** Of the database. */
  readonly shards: Shards
}

export async function findLaneServer(databaseUrl: string): Promise<LaneServer> {
  const database = new Database(databaseUrl, 1)
  const [found = ''] = await serversFinder(database, databaseUrl)([0])
  const url = new URL(found)
  const shards = await database.readShards()
  await database.close()
  const port = url.searchParams.get('port')
  if (port === null) return { url: databaseUrl, shards }
  url.host = `${url.searchParams.get('host')}:${port}`
  url.search = ''
  return { url: url.href, shards }
}

/**
 * A process's committer with one lane, of the first shard.
 *
 * @param server that has it; default: that of the database
 */
export function newLane(
  databaseUrl: string,
  durability: Durability = 'local',
  { url, shards }: LaneServer = { url: databaseUrl, shards: ONE_SHARD },
) {
  const witness = newWitness({ durability })
  const { owner, seen } = witness
  const notice = async (client: pg.ClientBase) => void (await noticeTakeover(client, witness))
  const greet = greetingOfShards(shards, databaseUrl, notice)
  const isSpread = shards.areSeveral
  const findServers = () => Promise.resolve([url])
  const connecting = { findServers, isSpread, owner, durability, greet, seen }
  const idGiver = isSpread ? { rows: giveIds(databaseUrl) } : undefined
  const settings = { ...connecting, idGiver, shards: ONE_SHARD, lanes: 1, rules: PERMISSIVE }
  return new PostgresSubmissionCommitter(settings, () => undefined)
}

function giveIds(databaseUrl: string): Sql['rows'] {
  return async <Row>(text: string, values: readonly unknown[] = []) =>
    (await ask(databaseUrl, text, ...values)) as Row[]
}

/** A process that has only started. */
export function newWitness(of: Partial<Witness> = {}): Witness {
  const seen = new SeenStreams(clock)
  return { owner: 'test', durability: 'local', seen, ...of }
}

/** Commits an event of a user. */
export async function sendEvent(
  committer: PostgresSubmissionCommitter,
  userId: number,
  eventId: string | null,
): Promise<SubmissionOutcome | undefined> {
  const group = committer.beginGroup(committer.queueOf(userId))
  group.add(submission(userId, measurement({ eventId })), false)
  return (await committer.commit(group))[0]
}

export function statusOf(outcome: SubmissionOutcome | undefined): string | undefined {
  if (outcome === undefined || 'code' in outcome) return outcome?.code
  return (outcome satisfies Receipt).at(0).status
}

/** Lets users have sensors. */
export async function addUsers(url: string, users: readonly number[]): Promise<void> {
  for (const user of users) {
    await ask(url, 'INSERT INTO user_state (shard, user_id) VALUES (0, $1)', user)
  }
}

/** Runs one statement on a connection of its own. */
export async function ask<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  ...values: unknown[]
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

/** A proxy before the socket of a server. */
export class LosingProxy {
  readonly #server: Server
  readonly #connections = new Set<Socket>()
  /** The next answer with this text is lost with its connection. */
  loseAnswer: string | undefined
  /** The next statement with this text is, as it is prepared: the first time on a connection. */
  lose: string | undefined
  /** The server never hears of the next statement with this text, nor of what comes after it. */
  withhold: string | undefined
  /** How many have connected. */
  connected = 0

  private constructor(connectToServer: () => Socket) {
    this.#server = createServer((client) => this.#join(client, connectToServer()))
  }

  /** @param url of a server on a socket, or on a port */
  static async start(url: string): Promise<{ proxy: LosingProxy; url: string }> {
    const { searchParams, hostname, port, pathname, username } = new URL(url)
    const user = searchParams.get('user') ?? username
    const folder = searchParams.get('host')
    const proxy = new LosingProxy(() =>
      folder === null
        ? connect({ host: hostname, port: Number(port) })
        : connect(`${folder}/.s.PGSQL.5432`),
    )
    const ownPort = await proxy.#listen()
    return { proxy, url: `postgresql://${user}@127.0.0.1:${ownPort}${pathname}` }
  }

  async stop(): Promise<void> {
    for (const socket of this.#connections) socket.destroy()
    await new Promise((resolve) => void this.#server.close(resolve))
  }

  #listen(): Promise<number> {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address()
        resolve(typeof address === 'object' ? (address?.port ?? 0) : 0)
      })
    })
  }

  #join(client: Socket, server: Socket): void {
    const end = () => {
      client.destroy()
      server.destroy()
    }
    this.connected++
    let isWithheld = false
    for (const socket of [client, server]) {
      this.#connections.add(socket)
      socket.on('error', end).on('close', () => {
        end()
        this.#connections.delete(socket)
      })
    }
    client.on('data', (bytes) => {
      isWithheld ||= this.withhold !== undefined && bytes.includes(this.withhold)
      if (isWithheld) {
        this.withhold = undefined
        return
      }
      if (this.lose === undefined || !bytes.includes(this.lose)) {
        server.write(bytes)
        return
      }
      this.lose = undefined
      end()
    })
    server.on('data', (bytes) => {
      if (this.loseAnswer === undefined || !bytes.includes(this.loseAnswer)) {
        client.write(bytes)
        return
      }
      this.loseAnswer = undefined
      end()
    })
  }
}
