// Goal: a user is gone at once, and nobody waits while what they had is deleted. Method: processes
// on one database; statements of a test hold one row, so that others wait where they are looked at.

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import pg from 'pg'
import { ALL_RIGHTS } from '../../src/domain/access.ts'
import { continueUserDeletion, UserDeletions } from '../../src/postgres/control/user-deletions.ts'
import { Database } from '../../src/postgres/server/database.ts'
import { systemClock as clock } from '../../src/system/clock.ts'
import { commit, measurement, NOW_MS, PERMISSIVE, submission } from '../contract/open-data.ts'
import type { OpenData } from '../contract/open-data.ts'
import { ask, statusOf } from '../support/lanes.ts'
import { countLockWaits, endLockWaits } from '../support/lock-waits.ts'
import { RecordingLog } from '../support/log.ts'
import { openProcess } from '../support/postgres-process.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const SENSORS = 250
const RULES = { ...PERMISSIVE, sensorsPerUserMax: SENSORS }
const ANA = 'ana@example.org'

describe('the deletion of a user', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  let data: OpenData
  let userId: number
  let otherId: number
  const opened: Database[] = []

  beforeEach(async () => {
    database = await newMigratedDatabase(postgres())
    data = await openProcess(database.url, RULES)
    userId = await createUser(ANA)
    otherId = await createUser('ben@example.org')
  })
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close()
    await data.close()
    await database.remove()
  })

  const createUser = async (email: string) =>
    (await data.controlWriter.createUser(email, ''))?.id ?? 0
  const named = (count: number) =>
    Array.from({ length: count }, (_, at) => measurement({ serialNumber: `s${at}` }))
  const send = async (...of: readonly number[]) =>
    (await commit(data, ...of.map((user) => submission(user, ...named(1))))).map(statusOf)
  const read = (text: string, ...values: unknown[]) => ask(database.url, text, ...values)
  const connect = () => {
    const connected = new Database(database.url, 1)
    opened.push(connected)
    return connected
  }
  /** The next step, by a process that ends after it. */
  const takeStep = () => continueUserDeletion(connect(), NOW_MS)
  const waitForLock = () =>
    until('it waits for a lock', async () => (await countLockWaits(database.url)) > 0)
  /** @param statement whose rows are locked meanwhile */
  const holding = async (
    statement: string,
    work: (release: () => Promise<void>) => Promise<void>,
  ) => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    try {
      await client.query(`BEGIN; ${statement} FOR UPDATE`)
      await work(async () => void (await client.query('ROLLBACK')))
    } finally {
      await client.end()
    }
  }

  it('keeps nobody from registering sensors while changes of another user wait', async () => {
    await holding(`SELECT FROM user_state WHERE user_id = ${userId}`, async (release) => {
      const waiting = Array.from({ length: 8 }, (_, at) =>
        data.controlWriter.createSensor(userId, `waiting ${at}`, undefined),
      )
      await waitForLock()
      expect(await send(otherId)).to.deep.equal(['created'])
      await release()
      await Promise.all(waiting)
    })
  })

  it('takes effect at once, and is finished by whichever process goes on', async () => {
    const hash = randomBytes(32)
    const order = { userId, kind: 'daemon', name: 'x', rights: ALL_RIGHTS } as const
    await data.controlWriter.createToken({ ...order, hash, expiresAtMs: null })
    await commit(data, submission(userId, ...named(SENSORS)))
    const [first] = await data.control.listSensors(userId)
    await data.controlWriter.deleteSensor(userId, first?.id ?? 0)
    expect(await data.controlWriter.deleteUser(userId)).to.equal(SENSORS - 1)
    const successor = await createUser(ANA)
    expect(await send(successor)).to.deep.equal(['created'])
    const { control } = data
    expect(await control.findPrincipal(hash)).to.equal(undefined)
    expect(await control.listSensors(userId)).to.deep.equal([])
    expect(await control.findSensorOfAnyone((first?.id ?? 0) + 1)).to.equal(undefined)
    expect(await control.countSensorDeletions()).to.equal(SENSORS)

    const steps = [await takeStep(), await takeStep(), await takeStep()]
    expect(steps).to.deep.equal([true, true, false])
    expect(await control.countSensorDeletions()).to.equal(SENSORS)
    const left = await read(
      `SELECT (SELECT count(*) FROM sensors WHERE user_id = $1 AND
          (deleted_at_ms IS NULL OR concat(serial_number, serial_number_key, alias) <> ''))
        + (SELECT count(*) FROM sensor_state WHERE user_id = $1)
        + (SELECT count(*) FROM accepted_per_day d
          JOIN sensors s ON s.id = d.sensor_id
          WHERE s.user_id = $1) AS count`,
      userId,
    )
    expect(left).to.deep.equal([{ count: '0' }])
    expect(await control.listSensors(successor)).to.have.lengthOf(1)
  })

  it('is finished by a service, after one that was killed within a step', async () => {
    await commit(data, submission(userId, ...named(SENSORS)))
    await data.controlWriter.deleteUser(userId)
    await holding('SELECT FROM accepted_per_day', async () => {
      const killed = takeStep().catch(() => undefined)
      await waitForLock()
      // Nobody waits for a step of another process.
      expect(await takeStep()).to.equal(false)
      await endLockWaits(database.url)
      await killed
    })
    expect(await read('SELECT FROM sensor_deletions')).to.have.lengthOf(0)
    const service = new UserDeletions({
      database: connect(),
      clock,
      log: new RecordingLog(),
    })
    service.start()
    await until('it is finished', async () => {
      return (await read('SELECT FROM user_deletions')).length === 0
    })
    await service.stop()
    expect(await read('SELECT FROM sensor_deletions')).to.have.lengthOf(SENSORS)
  })

  it('waits for what a group is about to store, and has that deleted too', async () => {
    await send(userId)
    await holding('SELECT FROM accepted_per_day', async (release) => {
      const sent = send(userId)
      await waitForLock()
      expect(await data.controlWriter.deleteUser(userId)).to.equal(1)
      const step = takeStep()
      await until('it waits for the group', async () => (await countLockWaits(database.url)) > 1)
      await release()
      expect(await sent).to.deep.equal(['created'])
      expect(await step).to.equal(true)
    })
    const streams = await read('SELECT stream_id, head FROM streams ORDER BY stream_id')
    const heads = streams.map(({ stream_id: id, head }) => `${id}:${head}`).join()
    expect(await read('SELECT heads FROM sensor_deletions')).to.deep.equal([{ heads }])
    expect(await read('SELECT FROM accepted_per_day')).to.have.lengthOf(0)
    expect(await read('SELECT FROM sensor_state')).to.have.lengthOf(0)
  })

  it('lets no group wait, and nothing of the user into one', async () => {
    await send(userId, otherId)
    await data.controlWriter.deleteUser(userId)
    await holding('SELECT FROM accepted_per_day', async () => {
      const step = takeStep().catch(() => undefined)
      await waitForLock()
      const other = submission(otherId, measurement({ serialNumber: 'new' }))
      const outcomes = await commit(data, submission(userId, ...named(1)), other)
      expect(outcomes.map(statusOf)).to.deep.equal(['invalid_token', 'created'])
      await endLockWaits(database.url)
      await step
    })
    expect(await data.controlWriter.createSensor(userId, 'late', undefined)).to.equal('quota')
  })

  it('is not held up by a link that is redeemed, or a token that is renewed', async () => {
    const { controlWriter } = data
    const [linkHash, hash] = [randomBytes(32), randomBytes(32)]
    const order = {
      userId,
      kind: 'daemon',
      name: 'x',
      rights: ALL_RIGHTS,
      expiresAtMs: null,
    } as const
    const { id } = await controlWriter.createToken({ ...order, hash: randomBytes(32) })
    const times = { nowMs: NOW_MS, expiresAtMs: NOW_MS + 1_000 }
    await controlWriter.createSignInLink({ hash: linkHash, userId, salt: hash, ...times })
    await holding(`SELECT FROM users WHERE id = ${userId}`, async (release) => {
      const token = { name: 'link', rights: [], hash, expiresAtMs: null }
      const redemption = { linkHash, token, firstUser: undefined, nowMs: NOW_MS }
      const rotation = { hash: randomBytes(32), nowMs: NOW_MS, overlapMs: 0 }
      const both = Promise.all([
        controlWriter.redeemSignInLink(redemption),
        controlWriter.rotateToken(id, rotation),
      ])
      await until('both wait for the user', async () => {
        return (await countLockWaits(database.url)) > 1
      })
      expect(await read('SELECT FROM sign_in_links FOR UPDATE NOWAIT')).to.have.lengthOf(1)
      expect(await read('SELECT FROM access_tokens FOR UPDATE NOWAIT')).to.have.lengthOf(1)
      await release()
      expect((await both).map((done) => done !== undefined)).to.deep.equal([true, true])
    })
  })

  it('makes place for who signs up again meanwhile', async () => {
    const identity = {
      issuer: 'https://id.example.org',
      subject: 'ana',
      email: ANA,
      name: 'Ana',
      isEmailVerified: true,
    }
    const signIn = () => {
      const token = { name: 'app', rights: [], hash: randomBytes(32), expiresAtMs: null }
      return data.controlWriter.signIn({ identity, maySignUp: true, token })
    }
    // Deletes the user, and waits before it is over.
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query('BEGIN')
    await client.query('DELETE FROM user_state')
    await client.query('DELETE FROM users')
    const signingIn = signIn()
    await waitForLock()
    await client.query('COMMIT')
    await client.end()
    expect((await signingIn)?.user.id).to.be.greaterThan(otherId)
  })
})
