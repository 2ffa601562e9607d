// What users, tokens and sensors are to several processes at once.

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { createControlReader } from '../../src/postgres/control/control-reader.ts'
import { ServiceError } from '../../src/domain/errors.ts'
import { connectAlone } from '../../src/postgres/server/connection.ts'
import { Database } from '../../src/postgres/server/database.ts'
import { createControlWriter } from '../../src/postgres/control/control-writer.ts'
import { createDeletionJobs } from '../../src/postgres/control/deletion-jobs.ts'
import { systemClock } from '../../src/system/clock.ts'
import { describeOwnTokens } from '../contract/own-tokens.ts'
import { describeSignIns } from '../contract/sign-ins.ts'
import { describeControl } from '../contract/control.ts'
import { describeUnknownIds } from '../contract/unknown-ids.ts'
import { newPostgresData } from '../support/postgres-data.ts'
import { newGuard } from '../support/lanes.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

const SENSORS_MAX = 6

describe('control data in PostgreSQL', () => {
  const postgres = usePostgres()

  describeControl('PostgreSQL', newPostgresData(postgres))
  describeSignIns('PostgreSQL', newPostgresData(postgres))
  describeOwnTokens('PostgreSQL', newPostgresData(postgres))
  describeUnknownIds('PostgreSQL', newPostgresData(postgres))
})

describe('control data of two processes', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  let processes: readonly ReturnType<typeof openProcess>[]
  let userId: number

  const openProcess = () => {
    const sql = new Database(database.url, 8, { guard: newGuard() })
    const of = { database: sql, clock: systemClock }
    let journalled = 0
    const onJournalled = (measurements: number) => void (journalled += measurements)
    const writer = createControlWriter(of, { sensorsPerUserMax: SENSORS_MAX }, onJournalled)
    return {
      sql,
      control: createControlReader(sql),
      writer,
      upkeep: writer,
      jobs: createDeletionJobs(sql),
      journalled: () => journalled,
    }
  }
  const [first, second] = [() => at(0), () => at(1)]
  const at = (index: number) => {
    const found = processes[index]
    if (found === undefined) throw new Error('it is opened in a hook')
    return found
  }

  beforeEach(async () => {
    database = await newMigratedDatabase(postgres())
    processes = [openProcess(), openProcess()]
    userId = (await first().writer.createUser('ana@example.org', ''))?.id ?? 0
  })
  afterEach(async () => {
    for (const { sql } of processes) await sql.close()
    await database.remove()
  })

  it('keeps what is refused of one user while much of another is waiting', async () => {
    const { writer } = first()
    const other = (await writer.createUser('ben@example.org', ''))?.id ?? 0
    const refusedOf = (ofUser: number, content: string) => ({
      userId: ofUser,
      tokenId: 1,
      kind: 'line' as const,
      content,
      fields: null,
      unitNs: '1',
      serialNumberPrefix: '',
      reason: 'why',
      receivedAtMs: 1,
      aheadAtMs: null,
      count: 1,
    })
    await writer.keepRefused([refusedOf(userId, 'first')])
    const holder = await connectAlone(database.url, false)
    await holder.query('BEGIN')
    await holder.query('SELECT 1 FROM refused_totals WHERE user_id = $1 FOR UPDATE', [userId])
    const all = Array.from({ length: 20 }, (_, line) =>
      writer.keepRefused([refusedOf(userId, `line ${line}`)]),
    )
    await writer.keepRefused([refusedOf(other, 'good to know')])
    await holder.query('ROLLBACK')
    await holder.end()
    await Promise.all(all)
    expect((await first().control.countRefused(userId)).count).to.equal(21)
    expect((await first().control.countRefused(other)).count).to.equal(1)
  })

  it('reads sensors of one user while many changes of another are waiting', async () => {
    const { writer, control } = first()
    const other = (await writer.createUser('ben@example.org', ''))?.id ?? 0
    const made = await writer.createSensor(userId, 'cellar', undefined)
    const sensorId = typeof made === 'object' ? made.id : 0
    const holder = await connectAlone(database.url, false)
    await holder.query('BEGIN')
    await holder.query('SELECT 1 FROM user_state WHERE user_id = $1 FOR UPDATE', [userId])
    const waiting = Array.from({ length: 200 }, (_, change) =>
      writer.changeSensor(userId, sensorId, { alias: `${change}` }).then(
        () => 'done',
        (error: unknown) => (error instanceof ServiceError ? error.code : error),
      ),
    )
    expect(await control.listSensors(other)).to.deep.equal([])
    await holder.query('ROLLBACK')
    await holder.end()
    const outcomes = Map.groupBy(await Promise.all(waiting), (outcome) => outcome)
    expect([...outcomes.keys()]).to.have.members(['done', 'overloaded'])
    expect(outcomes.get('done')).to.have.length.above(100)
  })

  it('registers a name once and no more sensors than allowed, whoever is asked', async () => {
    const names = ['a', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
    const made = await Promise.all(
      names.map((name, index) => at(index % 2).writer.createSensor(userId, name, undefined)),
    )
    const ids = made.flatMap((one) => (typeof one === 'object' ? [one.id] : []))
    expect(new Set(ids).size).to.equal(SENSORS_MAX)
    const sensors = await first().control.listSensors(userId)
    expect(sensors.map(({ id }) => id)).to.have.members(ids)
    expect(new Set(sensors.map(({ serialNumber }) => serialNumber)).size).to.equal(SENSORS_MAX)
  })

  it('knows a token no more from the moment another process has revoked it', async () => {
    const hash = randomBytes(32)
    const order = { userId, kind: 'daemon', name: 'x', rights: [], expiresAtMs: null } as const
    const token = await first().writer.createToken({ ...order, hash })
    const found = await Promise.all(
      [hash, hash, randomBytes(32)].map((one) => second().control.findPrincipal(one)),
    )
    expect(found.map((one) => one?.token.id)).to.deep.equal([token.id, token.id, undefined])
    await first().writer.revokeToken(token.id)
    const principal = await second().control.findPrincipal(hash)
    expect(principal?.token.revokedAtMs).to.be.a('number')
  })

  it('keeps a hundred sessions of a user, wherever they begin', async () => {
    const identity = { issuer: 'i', subject: 's', email: 'b@example.org', isEmailVerified: true }
    const signIn = (index: number) => {
      const token = { name: 'x', rights: [], hash: randomBytes(32), expiresAtMs: null }
      const order = { identity: { ...identity, name: undefined }, maySignUp: true, token }
      return at(index % 2).writer.signIn(order)
    }
    const users = new Set<number | undefined>()
    // A few at a time: they wait for one another, and none may wait for more than a few seconds.
    for (let begun = 0; begun < 110; begun += 10) {
      const some = Array.from({ length: 10 }, (_, index) => signIn(begun + index))
      for (const one of await Promise.all(some)) users.add(one?.user.id)
    }
    expect(users.size).to.equal(1)
    const tokens = await first().control.listTokens([...users][0] ?? 0)
    expect(tokens.filter(({ revokedAtMs }) => revokedAtMs === null)).to.have.lengthOf(100)
  })

  it('has a deleted sensor deleted from the store once all streams are past its end', async () => {
    const sensor = await first().writer.createSensor(userId, 'cellar', undefined)
    const sensorId = typeof sensor === 'object' ? sensor.id : 0
    const [control, stream] = [0, 1]
    for (const table of ['streams', 'stream_forwarded']) {
      await first().sql.change(`INSERT INTO ${table} (stream_id) VALUES ($1)`, [stream])
    }
    await first().sql.change('UPDATE streams SET head = 5 WHERE stream_id = $1', [stream])
    await second().writer.deleteSensor(userId, sensorId)
    const due = () => second().jobs.due(Date.now() + 1_000)
    const forwardTo = 'UPDATE stream_forwarded SET seq = $2 WHERE stream_id = $1'
    await first().sql.change(forwardTo, [control, 9])
    expect(await due()).to.deep.equal([])
    await first().sql.change(forwardTo, [stream, 5])
    const [job] = await due()
    if (job === undefined) throw new Error('it is not due')
    await first().jobs.notePass(job, Date.now() + 60_000)
    expect(await due()).to.deep.equal([])
    await first().jobs.notePass({ ...job, passes: 1 }, undefined)
    expect(await second().control.countSensorDeletions()).to.equal(0)
  })

  it('forwards again, or gives up, what was set aside', async () => {
    const sensor = await first().writer.createSensor(userId, 'cellar', undefined)
    const sensorId = typeof sensor === 'object' ? sensor.id : 0
    const setAside = (tieBreak: number) =>
      first().sql.change(
        `INSERT INTO set_aside (user_id, sensor_id, measured_at_ms, tie_break_ns,
           temp_celsius, reason, set_aside_at_ms)
         SELECT user_id, sensor_id, 1000, $2, 20, 'never', 5 FROM sensor_state
         WHERE sensor_id = $1`,
        [sensorId, tieBreak],
      )
    await setAside(0)
    await setAside(1)
    const [kept, other] = await second().control.listSetAside(0, 10)
    expect(kept).to.include({ sensorId, measuredAtMs: 1_000, reason: 'never' })
    const before = await first().control.findSensor(userId, sensorId)
    expect(await second().upkeep.retrySetAside([kept?.id ?? 0])).to.equal(1)
    expect(second().journalled()).to.equal(1)
    const after = await first().control.findSensor(userId, sensorId)
    expect(after?.dataVersion).not.to.equal(before?.dataVersion)
    const [row] = await first().sql.rows<{ measurements: number; bytes: number }>(
      `SELECT measurements, length(entries) AS bytes FROM journal WHERE entries IS NOT NULL`,
    )
    expect(row).to.deep.equal({ measurements: 1, bytes: 28 })
    expect(await second().upkeep.dropSetAside([other?.id ?? 0])).to.equal(1)
    expect(await first().control.countSetAside()).to.equal(0)
  })

  it('settles what was set aside until then, however much comes meanwhile', async () => {
    const sensor = await first().writer.createSensor(userId, 'cellar', undefined)
    const sensorId = typeof sensor === 'object' ? sensor.id : 0
    const count = 5_000
    await first().sql.change(
      `INSERT INTO set_aside (user_id, sensor_id, measured_at_ms, tie_break_ns,
         temp_celsius, reason, set_aside_at_ms)
       SELECT user_id, sensor_id, at, 0, 20, 'never', 5
       FROM sensor_state, generate_series(1, $2::int) AS at WHERE sensor_id = $1`,
      [sensorId, count],
    )
    await first().sql.execute(`
      CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS
      $$BEGIN old.id = nextval('set_aside_id_seq'); INSERT INTO set_aside VALUES (old.*);
      RETURN old; END$$;
      CREATE TRIGGER again AFTER DELETE ON set_aside FOR EACH ROW EXECUTE FUNCTION again()`)
    expect(await second().upkeep.retrySetAside(undefined)).to.equal(count)
    expect(await second().upkeep.dropSetAside(undefined)).to.equal(count)
    expect(await first().control.countSetAside()).to.equal(count)
    const [row] = await first().sql.rows('SELECT sum(measurements)::int AS n FROM journal')
    expect(row).to.deep.equal({ n: count })
  })

  it('keeps any byte of what was refused', async () => {
    const refused = {
      userId,
      tokenId: 1,
      kind: 'line',
      content: '\0\u00ff',
      fields: null,
      unitNs: '1',
      serialNumberPrefix: '',
      reason: 'why\0',
      receivedAtMs: 1,
      aheadAtMs: 2,
      count: 1,
    } as const
    await Promise.all(processes.map(({ writer }) => writer.keepRefused([refused])))
    const listing = { isOldestFirst: true, limit: 10 }
    const [entry] = await first().control.listRefused(listing)
    expect(entry).to.include({ content: '\0\u00ff', reason: 'why\u{FFFD}', count: 2 })
    const retry = { id: entry?.id ?? 0, count: 2, reason: 'still' }
    await second().writer.noteRefusedRetries([retry])
    expect(await first().control.listRefused(listing)).to.have.lengthOf(1)
    expect(await first().writer.dropRefused(undefined)).to.equal(1)
    expect(await second().control.countRefused()).to.deep.equal({ count: 0, dropped: 0 })
  })

  it('makes room for what processes keep at once, and counts it right', async () => {
    const addresses = Array.from({ length: 9 }, (_, number) => `user-${number}@example.org`)
    const users = await Promise.all(
      addresses.map(async (address) => (await first().writer.createUser(address, ''))?.id ?? 0),
    )
    const text = 'x'.repeat(2_600_000)
    const keep = (process: ReturnType<typeof first>, of: readonly number[], name: string) =>
      process.writer.keepRefused(
        of.map((ofUser) => ({
          userId: ofUser,
          tokenId: 1,
          kind: 'line',
          content: name + text,
          fields: null,
          unitNs: '1',
          serialNumberPrefix: '',
          reason: 'no',
          receivedAtMs: 1,
          aheadAtMs: null,
          count: 1,
        })),
      )
    const others = users.toReversed()
    await Promise.all([keep(first(), users, 'a'), keep(second(), others, 'a')])
    await Promise.all([keep(first(), users, 'b'), keep(second(), others, 'c')])
    expect(await second().control.countRefused()).to.deep.equal({ count: 25, dropped: 2 })
    const [entry] = await first().control.listRefused({ isOldestFirst: true, limit: 1 })
    await Promise.all([
      keep(first(), users.slice(1), 'b'),
      second().writer.dropRefused([entry?.id ?? 0]),
      second().writer.deleteUser(users[0] ?? 0),
    ])
    const totals = await first().sql.rows<{ counted: number; bytes: number }>(
      `SELECT t.bytes AS counted, sum(r.bytes)::bigint AS bytes
       FROM refused_totals t JOIN refused r USING (user_id) GROUP BY user_id`,
    )
    expect(totals).to.have.lengthOf(8)
    for (const { counted, bytes } of totals) expect(counted).to.equal(bytes)
  })

  it('counts what has no temperature, and knows which tokens had one', async () => {
    const one = { userId, series: 's', line: 'a\0', count: 2, lastAtMs: 1 }
    await Promise.all(processes.map(({ writer }) => writer.noteSkipped([one])))
    const [skipped] = await first().control.listSkipped(10)
    const userEmail = 'ana@example.org'
    expect(skipped).to.deep.equal({ userId, userEmail, line: 'a\0', count: 4, lastAtMs: 1 })
    const order = { userId, kind: 'daemon', name: 'x', rights: [], expiresAtMs: null } as const
    const { id } = await first().writer.createToken({ ...order, hash: randomBytes(32) })
    expect(await second().control.hasStoredLines(id)).to.equal(false)
    await first().writer.noteStoredLines(id)
    expect(await second().control.hasStoredLines(id)).to.equal(true)
  })
})
