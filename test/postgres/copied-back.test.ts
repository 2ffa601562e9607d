// Goal: whoever has written to data that are put back learns of it, once, and nobody else takes
// them for restored. Method: processes connect, write beats, and data are put back, in any order;
// what each is to find follows from what was there before what.

import { expect } from 'chai'
import fc from 'fast-check'
import { connectAlone, OtherData } from '../../src/postgres/server/connection.ts'
import { KnownData } from '../../src/postgres/server/recorded-server.ts'
import { noticeRestore } from '../../src/postgres/server/restore.ts'
import { BEAT } from '../../src/postgres/server/server-watch.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

/** Data as they once were; what follows from them has them as its past. */
interface Moment {
  readonly past: Moment | undefined
  readonly isRenewed: boolean
  readonly identity: IdentityRow
  /** By process. */
  readonly beats: ReadonlyMap<string, number>
}

type IdentityRow = Readonly<Record<'id' | 'epoch' | 'restored_to_ms', string>>

/** All that is in the past of a moment, itself first. */
function pastOf(moment: Moment | undefined): Moment[] {
  return moment === undefined ? [] : [moment, ...pastOf(moment.past)]
}

const PROCESSES = 3
/** A process connects, or writes a beat; or data are copied back, of some moments ago. */
const steps = fc.array(
  fc.oneof(
    fc.record({ connects: fc.nat(PROCESSES - 1), beats: fc.boolean() }),
    fc.record({ copied: fc.integer({ min: 1, max: 6 }) }),
  ),
  { minLength: 5, maxLength: 30 },
)

type Step = { readonly connects: number; readonly beats: boolean } | { readonly copied: number }

describe('data that are copied back while processes run', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  let client: Awaited<ReturnType<typeof connectAlone>>
  before(async () => {
    database = await newMigratedDatabase(postgres())
    client = await connectAlone(database.url, false)
    await noticeRestore(client, new KnownData())
  })
  after(async () => {
    await client?.end()
    await database?.remove()
  })

  const momentAfter = async (past: Moment | undefined, isRenewed: boolean): Promise<Moment> => {
    const identities = await client.query<IdentityRow>('SELECT * FROM data_identity')
    const [identity] = identities.rows
    if (identity === undefined) throw new Error('BUG: no identity')
    const { rows } = await client.query<{ process: string; beat: number }>('SELECT * FROM beats')
    return { past, isRenewed, identity, beats: new Map(rows.map((row) => [row.process, row.beat])) }
  }
  const putBack = async ({ identity: { id, epoch, restored_to_ms: toMs }, beats }: Moment) => {
    const text = 'UPDATE data_identity SET id = $1, epoch = $2, restored_to_ms = $3'
    await client.query(text, [id, epoch, toMs])
    await client.query('DELETE FROM beats')
    for (const one of beats) await client.query('INSERT INTO beats VALUES ($1, $2, 0)', [...one])
  }

  it('are a restore to whoever lacks a beat of its own, once, and to nobody else', async () => {
    const run = async (order: readonly Step[]) => {
      // Each restore takes some millions of them.
      await client.query("SELECT setval('users_id_seq', 1), setval('sensor_ids', 1)")
      const processes = Array.from({ length: PROCESSES }, () => new KnownData())
      const seen = new Map<KnownData, Moment>()
      let now = await momentAfter(undefined, false)
      const connectAs = async (known: KnownData) => {
        const expected = outcomeFor(known.process, seen.get(known), now)
        const found = await noticeRestore(client, known).catch((error: unknown) => error)
        if (expected === 'refused') return expect(found).to.be.instanceOf(OtherData)
        expect(found).to.equal(expected === 'restore')
        if (found === true) now = await momentAfter(now, true)
        seen.set(known, now)
        return expect(known.id).to.equal(now.identity.id)
      }
      for (const one of order) {
        if ('copied' in one) {
          now = pastOf(now)[one.copied] ?? now
          await putBack(now)
          continue
        }
        const known = processes[one.connects] ?? new KnownData()
        await connectAs(known)
        if (!one.beats || seen.get(known) !== now) continue
        await client.query(BEAT, [known.process])
        now = await momentAfter(now, false)
        await connectAs(known)
      }
      for (const known of [...processes, ...processes]) await connectAs(known)
    }
    await fc.assert(fc.asyncProperty(steps, run), { numRuns: 100 })
  })
})

/** What a process finds that knows what was there at one moment. */
function outcomeFor(
  process: string,
  known: Moment | undefined,
  now: Moment,
): 'restore' | 'refused' | 'none' {
  if (known === undefined) return 'none'
  const common = pastOf(now).find((one) => pastOf(known).includes(one))
  const isRenewedSince = (moment: Moment) =>
    pastOf(moment)
      .slice(0, pastOf(moment).indexOf(common ?? moment))
      .some(({ isRenewed }) => isRenewed)
  if (isRenewedSince(now)) return 'none'
  if (isRenewedSince(known)) return 'refused'
  const [then, is] = [known, now].map(({ beats }) => beats.get(process) ?? 0)
  return (is ?? 0) < (then ?? 0) ? 'restore' : 'none'
}
