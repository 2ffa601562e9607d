// The connection of a lane: statements are sent without waiting for the answers to those before.

import type pg from 'pg'
import { connectAlone, prepared } from '../server/connection.ts'
import type { Opening } from '../server/connection.ts'
import { isOfStatement } from '../server/failures.ts'

/** The connection is gone, or the server has ended it: what was not answered may have happened. */
export class ConnectionLost extends Error {}

type Answer<Row extends pg.QueryResultRow> = Promise<pg.QueryResult<Row>>

export class Session {
  readonly #client: pg.Client
  #warnings = 0

  private constructor(client: pg.Client) {
    this.#client = client
    client.on('notice', () => this.#warnings++)
  }

  /** @throws Error if no host can be used now */
  static async open(databaseUrl: string, opening?: Opening): Promise<Session> {
    return new Session(await connectAlone(databaseUrl, true, opening))
  }

  /** Warnings and notices of the server so far. */
  get warnings(): number {
    return this.#warnings
  }

  /**
   * Sends a statement behind all others.
   *
   * @throws pg.DatabaseError of the statement @throws ConnectionLost
   */
  send<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Answer<Row> {
    const answer = this.#client.query<Row>(prepared(text, values)).catch((cause: unknown) => {
      if (isOfStatement(cause)) throw cause
      throw new ConnectionLost('the connection to the database is lost', { cause })
    })
    // Of several that fail, the caller hears of the first; the others may not end the process.
    answer.catch(ignore)
    return answer
  }

  /** Ends the connection at once, and with it whatever the server does for it. */
  destroy(): void {
    this.#client.connection.stream.destroy()
  }

  async close(): Promise<void> {
    await this.#client.end()
  }
}

function ignore(): void {}
