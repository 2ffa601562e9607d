// Notices that another server has the data: a promoted standby or a restored backup. The server
// does not say which of the two it is, so the processes find out. The first to notice records the
// streams as found. Then every process compares them with what it has seen; until this is decided,
// nothing is accepted.
//
// It is a promotion if every commit waited for a standby, the owner of each stream finds all that
// it acknowledged, and no process has seen more than was found. Otherwise something may be lost,
// and it is a restore; so it is if several nodes of Citus are others at once, since of what they
// did together both may lack the same. test/postgres/model/takeover.ts walks through every order of
// these steps, and nodes.ts there through those of several nodes.

import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { TakeoverUndecided, withConnection } from './connection.ts'
import type { Durability } from './durability.ts'
import { alignUsers } from './align-users.ts'
import { isRace } from './failures.ts'
import {
  inTransaction,
  isEpochDisputed,
  isLeftOpen,
  isSettled,
  lockRecorded,
  lookAtServer,
  othersIn,
  recordAs,
  toRecord,
} from './recorded-server.ts'
import type { Look } from './recorded-server.ts'
import { findCompleteToMs, noticeFound, renew } from './renewal.ts'
import type { Takeover } from './renewal.ts'
import type { SeenStreams } from './seen-streams.ts'
import { recoverPrepared } from './workers.ts'
import { noticedIn } from './workers-text.ts'

/** What a process can say of the data. */
export interface Witness {
  /** Its name as the owner of streams. */
  readonly owner: string
  readonly durability: Durability
  readonly seen: SeenStreams
}

/** In all longer than a takeover may be undecided. */
const ATTEMPTS_MAX = 60
const ATTEMPT_EVERY_MS = 250

const COMPLETE_TO = `
  SELECT complete_to_ms AS "atMs" FROM takeovers WHERE epoch = $1 AND is_decided`
const NOTE_LACKING = 'UPDATE data_identity SET may_lack = true'
const READ_OWN = `
  SELECT coalesce(array_agg(stream_id), '{}') AS streams FROM streams WHERE owner = $1`
const VOUCH = `
  UPDATE takeovers SET vouched = ARRAY(SELECT unnest(vouched) UNION SELECT unnest($1::int[]))
  WHERE NOT is_decided`

/**
 * A stream that its owner has left needs no vouching. Neither does one whose last commit was an
 * hour older than the last of all: its owner is long gone.
 */
const JUDGE = `
  SELECT i.may_lack AS "mayLack", t.undecided_until < statement_timestamp() AS "isOverdue",
    coalesce(owned.streams <@ t.vouched, false) AS "isVouched"
  FROM takeovers AS t CROSS JOIN data_identity AS i CROSS JOIN (
    SELECT array_agg(stream_id) AS streams FROM streams
    WHERE lease_until > (SELECT max(lease_until) - interval '1 hour' FROM streams)) AS owned
  WHERE NOT t.is_decided`

interface Judgement {
  readonly mayLack: boolean
  readonly isOverdue: boolean
  /** Whether there are owners and all of them have vouched for their streams. */
  readonly isVouched: boolean
}

/**
 * Compares the server with the recorded one, and its streams with what this process has seen. Runs
 * on every new connection, before anything is read or written.
 *
 * @returns what happened, if this process decided it
 * @throws TakeoverUndecided: it cannot be decided for some seconds
 * @throws MoveUnfinished
 */
export async function noticeTakeover(
  client: pg.ClientBase,
  witness: Witness,
): Promise<Takeover | undefined> {
  let isHeard = false
  let decided: Takeover | undefined
  for (;;) {
    const { look, isLacking } = await compare(client, witness)
    // What this process has testified is decided by now.
    const hasNews = isLacking && !isHeard
    if (!hasNews && isAsRecorded(look, witness)) {
      witness.seen.adopt(look.recorded)
      return decided
    }
    // Data that never had its epoch would seem to lack the same, and be renewed, without an end.
    if (isLacking && isHeard && !look.recorded.isUndecided) witness.seen.adopt(look.recorded)
    // They would keep what follows waiting, and a node that has them may lack what others have.
    if (isLeftOpen(look)) await recoverPrepared(client)
    const judgement = await inTransaction(client, () => testify(client, witness))
    isHeard = judgement !== undefined
    if (judgement !== undefined) decided = await decide(client, judgement)
  }
}

/** Copied before the query: rows acknowledged during it must not look as if they were lacking. */
async function compare(client: pg.ClientBase, { seen }: Witness) {
  const before = seen.copy()
  const look = await lookAtServer(client, before.epoch)
  const { epoch, isAwake } = before
  return { look, isLacking: before.exceeds(look.recorded), epoch, isAwake }
}

function isAsRecorded(look: Look, { durability }: Witness): boolean {
  const isMarked = durability === 'replicated' || look.recorded.mayLack
  return isMarked && isSettled(look)
}

/** @returns `undefined` if there is nothing to decide @throws TakeoverUndecided */
async function testify(client: pg.ClientBase, witness: Witness): Promise<Judgement | undefined> {
  await lockRecorded(client)
  const { look, isLacking, epoch, isAwake } = await compare(client, witness)
  const { recorded } = look
  const others = othersIn(look)
  const isOther = others.length > 0
  const isUndecided = isOther || isLacking || recorded.isUndecided
  // What was left to be done would change what is found.
  if (isUndecided && isLeftOpen(look)) throw new TakeoverUndecided()
  // By the time the lock was ours, another process had recorded it.
  if (!isUndecided && isAsRecorded(look, witness)) return undefined
  const toBeRecorded = toRecord(look, others)
  const noticed = noticedIn(toBeRecorded.workers)
  if (isOther) await noticeFound(client, look, await findCompleteToMs(client, look.server, noticed))
  else if (isLacking && !recorded.isUndecided) {
    await noticeFound(client, look, await completeTo(client, epoch))
  }
  if (isLacking || noticed.length > 1 || isEpochDisputed(look)) await client.query(NOTE_LACKING)
  else if (isUndecided && isAwake && epoch === recorded.epoch) {
    const { rows } = await client.query<{ streams: number[] }>(READ_OWN, [witness.owner])
    await client.query(VOUCH, [rows[0]?.streams])
  }
  await recordAs(client, toBeRecorded, witness.durability === 'local' && !isUndecided)
  const judged = await client.query<Judgement & pg.QueryResultRow>(JUDGE)
  return judged.rows[0]
}

/** Up to when the data are complete, in an epoch that other processes have decided. */
async function completeTo(client: pg.ClientBase, epoch: string | undefined): Promise<number> {
  const { rows } = await client.query<{ atMs: number }>(COMPLETE_TO, [epoch])
  return rows[0]?.atMs ?? 0
}

/** @throws TakeoverUndecided */
async function decide(
  client: pg.ClientBase,
  { mayLack, isOverdue, isVouched }: Judgement,
): Promise<Takeover | undefined> {
  if (!mayLack && !isVouched && !isOverdue) throw new TakeoverUndecided()
  const takeover = mayLack || !isVouched ? 'restore' : 'promotion'
  try {
    return await inTransaction(client, async () => {
      await lockRecorded(client)
      const look = await lookAtServer(client)
      const { isUndecided, mayLack: mayLackNow } = look.recorded
      const isOutdated = mayLackNow && takeover === 'promotion'
      // Another process has decided meanwhile, or found that something is lacking, or a node is yet
      // another server.
      if (!isUndecided || isOutdated || othersIn(look).length > 0) return undefined
      await alignUsers(client, look, noticedIn(look.recorded.workers))
      await renew(client, takeover)
      return takeover
    })
  } catch (error) {
    // The locks of other work were in the way.
    if (isRace(error)) throw new TakeoverUndecided()
    throw error
  }
}

/**
 * Waits, before a process begins, until a takeover is decided.
 *
 * @param greet see `noticeTakeover` @throws what its last call throws
 */
export async function untilDecided(
  databaseUrl: string,
  greet: (client: pg.ClientBase) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await withConnection(databaseUrl, greet)
    } catch (error) {
      if (!(error instanceof TakeoverUndecided) || attempt === ATTEMPTS_MAX) throw error
    }
    await pause(ATTEMPT_EVERY_MS)
  }
}
