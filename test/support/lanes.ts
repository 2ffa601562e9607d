// Lanes on a PostgreSQL of a test: what they commit, and a proxy between that loses answers.

import { createServer, connect } from 'node:net'
import type { Server, Socket } from 'node:net'
import pg from 'pg'
import type { Receipt } from '../../src/domain/measurement.ts'
import type { Durability } from '../../src/postgres/server/durability.ts'
import type { Guard } from '../../src/postgres/server/greetings.ts'
import { KnownData } from '../../src/postgres/server/recorded-server.ts'
import { noticeRestore } from '../../src/postgres/server/restore.ts'
import { PostgresSubmissionCommitter } from '../../src/postgres/stream/submission-committer.ts'
import type { SubmissionOutcome } from '../../src/ports/submissions.ts'
import { measurement, PERMISSIVE, submission } from '../contract/open-data.ts'

/** A process's committer with one lane. */
export function newLane(
  databaseUrl: string,
  durability: Durability = 'local',
  known = new KnownData(),
) {
  const settings = { databaseUrl, owner: 'test', durability, rules: PERMISSIVE, lanes: 1 }
  return new PostgresSubmissionCommitter({ ...settings, ...newGuard(known) }, () => undefined)
}

/** Of a process; by default, of one that has only started. */
export function newGuard(known = new KnownData()): Guard {
  return { known, greet: async (client) => void (await noticeRestore(client, known)) }
}

/** Commits an event of a user. */
export async function sendEvent(
  committer: PostgresSubmissionCommitter,
  userId: number,
  eventId: string | null,
): Promise<SubmissionOutcome | undefined> {
  const group = committer.beginGroup()
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
    await ask(url, 'INSERT INTO user_state (user_id) VALUES ($1)', user)
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
