// Goal: when another server takes over, nothing is lost that was acknowledged with a standby, and
// everybody is told that something may be. Method: real services under load, a primary that
// is killed, a standby that is promoted, and a backup that is restored.

import { expect } from 'chai'
import { AS_COPIED, postgresPrograms, PostgresServer } from '../support/postgres-server.ts'
import { leaveOut } from '../support/left-out.ts'
import { byLength } from '../support/length.ts'
import { Load } from '../support/load.ts'
import { ask } from '../support/lanes.ts'
import { Replicas } from '../support/replicas.ts'
import { until } from '../support/until.ts'

const TAKEN_OVER_MS_MAX = 60_000
const LOOKS_WITHOUT_NEWS = 50
const LOAD = { senders: 6, batch: 5 }
const SOME = byLength(200, 2_000)
interface Store {
  readonly id: string
  readonly restored_to: string | null
}

/** How far ids move on. */
const ID_STEP = 2 ** 20

describe('another server that takes over', () => {
  let one: PostgresServer
  let other: PostgresServer
  let restored: PostgresServer
  let replicas: Replicas

  beforeEach(async function () {
    const programs = postgresPrograms()
    if (programs === undefined) leaveOut(this, 'PostgreSQL to stop and kill')
    one = await PostgresServer.start(programs)
    other = PostgresServer.empty(programs)
    restored = PostgresServer.empty(programs)
  })
  afterEach(async () => {
    await replicas?.stop()
    await Promise.all([one, other, restored].map((server) => server?.remove()))
  })

  const start = async (durability: 'local' | 'replicated') => {
    const hosts = [one, other, restored].map(({ host }) => host)
    const url = `postgresql://postgres@${hosts.join()}/postgres`
    replicas = await Replicas.start(3, { DATABASE_URL: url, DURABILITY: durability })
  }
  const startStandby = async () => {
    await other.copy(one, 'standby')
    await other.restart()
  }
  const setStandbyNames = async (names: string) => {
    await ask(one.url(), `ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
    await ask(one.url(), 'SELECT pg_reload_conf()')
  }
  const storeOf = async (at = 0) => {
    const { body } = await replicas.get(at, '/api/v1/me')
    return body.data?.store as Store | undefined
  }
  /** Each process looks once a second. */
  const anotherStore = async (before: Store | undefined, at = 0) => {
    let now: Store | undefined
    const isAnother = async () => {
      now = await storeOf(at)
      return now !== undefined && now.id !== before?.id
    }
    await until('the data have another id', isAnother, TAKEN_OVER_MS_MAX)
    return now
  }
  const epochOf = (server: PostgresServer) =>
    ask<{ epoch: string }>(server.url(), 'SELECT epoch FROM data_identity')
  const newSensorId = async (sn: string) => {
    const reading = { event_id: sn, sn, temp: 1, timestamp: '2026-03-10T00:00:00.000Z' }
    const isTaken = async () => [200, 201].includes(await replicas.post(0, [reading]))
    await until(`${sn} is registered`, isTaken, TAKEN_OVER_MS_MAX)
    return replicas.sensorId(0, sn)
  }
  /** A standby has whatever is acknowledged; a copy of it is to wait for one too. */
  const startReplicated = async () => {
    await setStandbyNames('*')
    await startStandby()
    await start('replicated')
    const store = await storeOf()
    const load = new Load(replicas, LOAD)
    await load.more(SOME)
    return { store, load }
  }

  it('has everything acknowledged when it was a synchronous standby', async () => {
    const { store, load } = await startReplicated()
    await one.stop('SIGQUIT')
    other.promote()
    await one.copy(other, 'standby')
    await one.restart()
    await load.more(SOME)
    await load.stop()
    const now = await anotherStore(store)
    expect(now?.restored_to).to.be.a('string')
    for (const at of [1, 2]) expect(await anotherStore(store, at)).to.deep.equal(now)
    expect(await load.sendAgain(), 'lost').to.equal(0)
    await load.expectWhole()
    expect(await newSensorId('after')).to.be.greaterThan(ID_STEP)
  })

  it('is another store when it is a backup, though a standby had everything', async () => {
    const { store, load } = await startReplicated()
    await restored.copy(one, 'restored')
    await load.more(SOME)
    await Promise.all([one.stop('SIGQUIT'), other.stop('SIGQUIT')])
    await restored.restart(AS_COPIED)
    await other.copy(restored, 'standby')
    await other.restart()
    await load.more(SOME)
    await load.stop()
    const now = await anotherStore(store)
    expect(now?.restored_to).to.be.a('string')
    for (const at of [1, 2]) expect(await anotherStore(store, at)).to.deep.equal(now)
    expect(await load.sendAgain(), 'what senders have kept').to.be.greaterThan(0)
    await load.expectWhole()
  })

  it('is another store, and was warned of, when it was an asynchronous standby', async () => {
    await startStandby()
    await start('local')
    const { body } = await replicas.get(0, '/readyz')
    expect(body.database.warnings.join()).to.contain('DURABILITY=replicated')
    const store = await storeOf()
    const load = new Load(replicas, LOAD)
    await load.more(SOME)
    await other.stop('SIGINT')
    await load.more(SOME)
    const lost = await newSensorId('lost')
    await one.stop('SIGQUIT')
    await other.restart()
    other.promote()
    await load.more(SOME)
    await load.stop()
    expect((await anotherStore(store))?.restored_to).to.be.a('string')
    expect(await newSensorId('after')).to.be.greaterThan(lost + ID_STEP - 1)
    expect(await load.sendAgain(), 'what senders have kept').to.be.greaterThan(0)
    await load.expectWhole()
  })

  it('is noticed when it is a backup of an earlier moment', async () => {
    await start('local')
    const store = await storeOf()
    const load = new Load(replicas, LOAD)
    await load.more(SOME)
    await other.copy(one, 'restored')
    await load.more(SOME)
    const lost = await newSensorId('lost')
    const [epoch] = await epochOf(one)
    await one.stop('SIGQUIT')
    await other.restart(AS_COPIED)
    await load.more(SOME)
    await load.stop()
    await anotherStore(store)
    expect(await epochOf(other), 'that of cursors and ETags').not.to.deep.equal([epoch])
    expect(await newSensorId('after')).to.be.greaterThan(lost + ID_STEP - 1)
    expect(await load.sendAgain(), 'what senders have kept').to.be.greaterThan(0)
    await load.expectWhole()
  })

  it('is waited for: nothing is acknowledged when the settings no longer want it', async () => {
    await startStandby()
    await setStandbyNames('*')
    await start('replicated')
    const load = new Load(replicas, LOAD)
    await load.more(SOME)
    await other.stop('SIGINT')
    await until('commits wait', async () => {
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
      return (await ask(one.url(), waiting)).length > 0
    })
    await until('what had a standby is told', hasNoNews(load))
    const before = load.count
    await setStandbyNames('')
    await until('nobody is ready', async () => {
      const ready = await Promise.all([0, 1, 2].map((at) => replicas.get(at, '/readyz')))
      return ready.every(({ status }) => status === 503)
    })
    expect(load.count, 'acknowledged without a standby').to.equal(before)
    await other.restart()
    await setStandbyNames('*')
    await load.more(SOME)
    await load.stop()
    expect(await load.sendAgain(), 'lost').to.equal(0)
    await load.expectWhole()
  })
})

/** Whether nothing was acknowledged for a number of looks. */
function hasNoNews(load: Load): () => boolean {
  let [known, looks] = [load.count, 0]
  return () => {
    looks = load.count === known ? looks + 1 : 0
    known = load.count
    return looks >= LOOKS_WITHOUT_NEWS
  }
}
