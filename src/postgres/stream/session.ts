// The connection of a lane. Statements are pipelined: sent without waiting for earlier answers.

import type pg from 'pg'
import { connectAlone, prepared } from '../server/connection.ts'
import type { Opening } from '../server/connection.ts'
import { isOfStatement } from '../server/failures.ts'

/** The connection is lost, or the server ended it: unanswered statements may have had effect. */
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

  /** How many warnings and notices the server has sent so far. */
  get warnings(): number {
    return this.#warnings
  }

  /**
   * Sends a statement behind all earlier ones.
   *
   * @throws pg.DatabaseError of the statement @throws ConnectionLost
   */
  send<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Answer<Row> {
    const answer = this.#client.query<Row>(prepared(text, values)).catch((cause: unknown) => {
      if (isOfStatement(cause)) throw cause
      throw new ConnectionLost('the connection to the database is lost', { cause })
    })
    // If several fail, the caller awaits only the first; the others must not end the process.
    answer.catch(ignore)
    return answer
  }

  /** Cuts the connection at once; the server then gives up what it does for it. */
  destroy(): void {
    this.#client.connection.stream.destroy()
  }

  async close(): Promise<void> {
    await this.#client.end()
  }
}

function ignore(): void {}
