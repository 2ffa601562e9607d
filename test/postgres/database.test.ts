// Goal: what the database answers is what has happened, also when it is away or a race was lost.

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { ServiceError } from '../../src/domain/errors.ts'
import { addressesOf, connectAlone } from '../../src/postgres/server/connection.ts'
import { Database } from '../../src/postgres/server/database.ts'
import { runOnce, usePostgresServer } from '../support/postgres.ts'
import { until } from '../support/until.ts'

describe('the database', () => {
  const server = usePostgresServer()
  let database: Database
  beforeEach(() => {
    database = new Database(server().url(), 4)
  })
  afterEach(() => database.close())

  it('is looked for at each of its hosts', async () => {
    expect(addressesOf('postgresql://u:p@a:1,b:2/name?x=1')).to.deep.equal([
      'postgresql://u:p@a:1/name?x=1',
      'postgresql://u:p@b:2/name?x=1',
    ])
    const socket = encodeURIComponent(new URL(server().url()).searchParams.get('host') ?? '')
    const several = new Database(`postgresql://postgres@127.0.0.1:1,${socket}/postgres`, 1)
    expect(await several.rows('SELECT 1 AS one')).to.deep.equal([{ one: 1 }])
    await several.close()
  })

  it('says of several hosts what the one that answers says', async () => {
    const hosts = [server().host, '127.0.0.1:1']
    for (const order of [hosts, hosts.toReversed()]) {
      const url = `postgresql://postgres@${order.join(',')}/none`
      const none = new Database(url, 1)
      const failures = [none.rows('SELECT 1'), connectAlone(url, false)]
      const [ofPool, ofClient] = await Promise.all(
        failures.map((failure) => failure.then(String, (error: Error) => error)),
      )
      expect(ofPool).to.include({ code: 'overloaded', hint: 'database "none" does not exist' })
      expect(ofClient).to.have.property('message', 'database "none" does not exist')
      await none.close()
    }
  })

  it('takes back a transaction that fails, and does one again that lost a race', async () => {
    await runOnce(server().url(), 'CREATE TABLE numbers (n int PRIMARY KEY)')
    const failed = database.transaction(async (sql) => {
      await sql.change('INSERT INTO numbers VALUES (1)')
      throw new ServiceError('not_found')
    })
    expect(await failed.catch((error: ServiceError) => error.code)).to.equal('not_found')
    expect(await database.rows('SELECT n FROM numbers')).to.deep.equal([])
    const next = () =>
      database.transaction(async (sql) => {
        const [row] = await sql.rows<{ n: number }>(
          'SELECT coalesce(max(n), 0) + 1 AS n FROM numbers',
        )
        await sql.change('INSERT INTO numbers VALUES ($1)', [row?.n])
        return row?.n ?? 0
      })
    const taken = await Promise.all([next(), next(), next()])
    expect(taken.toSorted((a, b) => a - b)).to.deep.equal([1, 2, 3])
  })

  it('is out of reach for a transaction that it ends', async () => {
    const ended = database.transaction(async (sql) => {
      await sql.run('SET LOCAL idle_in_transaction_session_timeout = 10')
      await pause(200)
      await sql.run('SELECT 1')
    })
    const failure = await ended.catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(ServiceError).with.property('code', 'overloaded')
  })

  it('says that a page of it is damaged', async () => {
    const damaged = database.execute("DO $$ BEGIN RAISE '' USING ERRCODE = 'XX001'; END $$")
    const failure = await damaged.catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(ServiceError).with.property('code', 'data_damaged')
  })

  it('says that it is out of reach, and is there again by itself', async () => {
    const one = () => database.rows('SELECT 1 AS one')
    await one()
    await server().stop('SIGQUIT')
    const failure = await one().catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(ServiceError).and.to.include({ code: 'overloaded' })
    await server().restart()
    expect(await one()).to.deep.equal([{ one: 1 }])
  })

  it('keeps one question waiting when it stands still, and none after it', async () => {
    const small = new Database(server().url(), 4, { statementMsMax: 100 })
    const one = () => small.rows('SELECT 1 AS one')
    const refusedAfterMs = async () => {
      const askedAtMs = performance.now()
      const failure = await one().catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(ServiceError).and.to.include({ code: 'overloaded' })
      return performance.now() - askedAtMs
    }
    await Promise.all([one(), one(), one()])
    server().freeze()
    try {
      const waitedMs = await refusedAfterMs()
      for (let question = 0; question < 8; question++) {
        expect(await refusedAfterMs()).to.be.below(waitedMs / 2)
      }
    } finally {
      server().thaw()
    }
    await until('it is there again', () => one().then(Boolean, () => false))
    await small.close()
  })
})
