// `thermolog move`, held up by locks where a test wants to do something to it.

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { startCommand } from './command.ts'
import { until } from './until.ts'

export interface Move {
  readonly dataDir: string
  readonly databaseUrl: string
}

interface WaitingMove {
  readonly child: ChildProcess
  readonly exited: Promise<number | null>
  /** On standard error, at its end. */
  readonly said: Promise<string>
  readonly watching: pg.Client
}

/** Statements of a move that wait for an advisory lock: its number is their place here. */
export const HELD = [
  'INSERT ON users',
  'INSERT ON sensor_state',
  'INSERT ON measurements',
  'INSERT ON ledger',
  // The last one: everything has been copied, and the index made.
  'UPDATE OF restored_to_ms ON data_identity',
]
/** Makes them wait. */
export const HOLD = `
  CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_advisory_xact_lock_shared(TG_ARGV[0]::int);
    RETURN NULL;
  END $$;
  ${HELD.map((statement, at) => triggerOf(statement, at)).join('')}`
/** Holds one of them up. */
export const lockOf = (statement: string) =>
  `SELECT pg_advisory_xact_lock(${HELD.indexOf(statement)})`
/** What comes between copying and comparing waits for it. */
export const ANALYSED = 'LOCK TABLE user_deletions IN SHARE UPDATE EXCLUSIVE MODE'
/** What comes between closing the directory and opening the database waits for it. */
export const OPENED = 'LOCK TABLE moving IN ACCESS SHARE MODE'

/** Starts a move, and kills it as soon as a lock holds it up. */
export async function killWhenItWaits(move: Move, lock: string): Promise<void> {
  await whileItWaits(move, lock, async ({ child, exited }) => {
    child.kill('SIGKILL')
    await exited
  })
}

/** Starts a move, and does something to it as soon as a lock holds it up. */
export async function whileItWaits(
  { dataDir, databaseUrl }: Move,
  lock: string,
  work: (waiting: WaitingMove) => Promise<void>,
): Promise<WaitingMove> {
  const [holding, watching] = await Promise.all([connect(databaseUrl), connect(databaseUrl)])
  await holding.query('BEGIN')
  await holding.query(lock)
  const child = startCommand(dataDir, ['move', '--to', databaseUrl], {})
  const exited = once(child, 'exit').then(([exitCode]) => exitCode as number | null)
  const said = text(child.stderr)
  const isWaiting = async () => {
    const { rows } = await watching.query(`SELECT 1 FROM pg_stat_activity
      WHERE application_name = 'thermolog move' AND wait_event_type = 'Lock'
        AND datname = current_database()`)
    if (child.exitCode !== null) throw new Error(`the move has ended: ${await said}`)
    return rows.length > 0
  }
  try {
    await until(`the move waits for: ${lock}`, isWaiting)
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  const waiting = { child, exited, said, watching }
  await work(waiting)
  await holding.query('ROLLBACK')
  await Promise.all([holding.end(), watching.end()])
  return waiting
}

/** Ends its connection. @returns its exit code */
export async function cutOff({ watching, exited }: WaitingMove): Promise<number | null> {
  await watching.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'thermolog move' AND datname = current_database()`)
  return exited
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  // The database may be removed while it is connected.
  client.on('error', () => undefined)
  await client.connect()
  return client
}

function triggerOf(statement: string, at: number): string {
  return `CREATE TRIGGER wait BEFORE ${statement} EXECUTE FUNCTION wait(${at});`
}
