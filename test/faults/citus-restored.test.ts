// Goal: when a node of Citus is lost and restored, nothing that its log has is missing, and whoever
// kept what it lacks is told. Method: two real services, and senders to both that never stop; a
// node is killed, its directory is removed, and a base backup and the log are put in its place.

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { loadConfig } from '../../src/config.ts'
import { openOperations } from '../../src/data-dir/operations.ts'
import { useCitusCluster } from '../support/citus.ts'
import { serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { send, sendBatch } from '../support/http.ts'
import { ask } from '../support/lanes.ts'
import { BASE, codeOf } from '../support/mobile.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { newDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { ResendingSender } from '../support/resending-sender.ts'
import { until } from '../support/until.ts'
import { newUsersOf } from '../support/users-of-workers.ts'
import { expectClean } from '../support/verify.ts'

const SENSORS = '/api/v1/sensors'
const ID_JUMP_MIN = 2 ** 20
/** Of each sender, before the next thing happens. */
const SOME = 100
const MAKERS = 3

interface Sensor {
  readonly id: number
  readonly sn: string
}

interface Store {
  readonly id: string
  readonly restored_to: string
}

type Operations = Awaited<ReturnType<typeof openOperations>>['operations']

describe('a node of Citus that is lost and restored', () => {
  const citus = useCitusCluster(true)
  let database: TestDatabase
  let ports: readonly number[]
  let services: readonly RunningService[] = []
  let urls: readonly string[]
  /** Of a user of each worker. */
  let tokens: readonly string[]
  let senders: readonly ResendingSender[] = []
  let stories = 0
  /** That were acknowledged. */
  let measurements = 0

  before(async () => {
    database = await newDatabase(citus())
    ports = [await freePort(), await freePort()]
    await startServices()
    urls = services.map(({ url }) => url)
    tokens = await newUsersOf(citus().workers, database.url)
  })
  beforeEach(async () => {
    const story = ++stories
    await operate((operations) => operations.createUser({ email: addressOf('ana') }))
    senders = tokens.flatMap((token, worker) =>
      urls.map((url, at) => new ResendingSender(`${worker}-${at}-${story}`, url, token)),
    )
  })
  afterEach(() => stopSenders())
  after(() => stopServices())

  const startServices = async () => {
    const starting = ports.map((port) => {
      return serve('nowhere', { DATABASE_URL: database.url, PORT: String(port) })
    })
    services = await Promise.all(starting)
  }
  const stopServices = () => Promise.all(services.map((service) => service.stop()))
  const addressOf = (name: string) => `${name}-${stories}@example.org`
  const operate = async <Result>(work: (operations: Operations) => Promise<Result>) => {
    const settings = { DATABASE_URL: database.url, PUBLIC_URL: 'https://cellar.example.org' }
    const { operations, close } = await openOperations(loadConfig(settings))
    try {
      return await work(operations)
    } finally {
      await close()
    }
  }
  const stopSenders = () => Promise.all(senders.map((sender) => sender.stop()))
  const more = async () => {
    const wanted = senders.map((sender) => ({ sender, count: sender.count + SOME }))
    await until('all senders go on', () =>
      wanted.every(({ sender, count }) => sender.count >= count),
    )
  }
  /** @returns how many were lacking, of users of each worker */
  const sendAgain = async () => {
    await stopSenders()
    const lacking = tokens.map(() => 0)
    for (const [at, sender] of senders.entries()) {
      const worker = Math.floor(at / urls.length)
      lacking[worker] = (lacking[worker] ?? 0) + (await sender.sendAgain())
      measurements += sender.count
    }
    return lacking
  }
  /** What each service answers users of each worker. */
  const statuses = () =>
    Promise.all(
      tokens.map(async (token) => {
        const answers = await Promise.all(urls.map((url) => send(url, { path: SENSORS, token })))
        return answers.map(({ status }) => status)
      }),
    )
  const storesNow = () =>
    Promise.all(
      urls.map(async (url) => {
        const { body } = await send(url, { path: '/api/v1/me', token: tokens[1] ?? '' })
        return body.data?.store as Store | undefined
      }),
    )
  const untilAnother = ([before]: readonly (Store | undefined)[]) =>
    until('the data have another id', async () => {
      return (await storesNow()).every((store) => store !== undefined && store.id !== before?.id)
    })

  const newCode = async () => {
    const { url } = await operate(({ createLink }) => createLink({ user: addressOf('ana') }))
    return url.slice(url.lastIndexOf('/') + 1)
  }
  const redeem = (code: string) => {
    const body = { code, code_verifier: randomBytes(32).toString('base64url') }
    return send(urls[0] ?? '', { method: 'POST', path: `${BASE}/auth/link`, body })
  }
  const changes = async (token: string, since = '') =>
    (await send(urls[0] ?? '', { path: `${BASE}/changes${since}`, token })).body.data
  const listSensors = (headers = {}) =>
    send(urls[1] ?? '', { path: SENSORS, token: tokens[1] ?? '', headers })
  /** What clients and people keep. */
  const keep = async () => {
    const { token } = (await redeem(await newCode())).body.data
    const { cursor } = await changes(token)
    const { headers, body } = await listSensors()
    const lastId = Math.max(...(body.data as Sensor[]).map(({ id }) => id))
    const etag = headers.etag ?? ''
    return { stores: await storesNow(), token, cursor, etag, lastId, code: await newCode() }
  }
  const expectVoid = async (kept: Awaited<ReturnType<typeof keep>>) => {
    expect((await changes(kept.token, `?since=${kept.cursor}`)).reset).to.equal(true)
    expect((await listSensors({ 'if-none-match': kept.etag })).status).to.equal(200)
    expect(codeOf(await redeem(kept.code))).to.equal('400 invalid_grant')
    const sn = `new-${stories}`
    await sendBatch(urls[0] ?? '', tokens[1] ?? '', [{ event_id: sn, sn, temp: 1 }])
    measurements++
    const sensors: readonly Sensor[] = (await listSensors()).body.data
    const added = sensors.find((sensor) => sensor.sn === sn)
    expect((added?.id ?? 0) - kept.lastId).to.be.greaterThan(ID_JUMP_MIN)
  }
  const backUp = async (node: PostgresServer) => {
    const backup = await citus().backUp(node)
    await ask(node.url(), 'SELECT pg_switch_wal()')
    return backup
  }
  const timeAt = async (node: PostgresServer) => {
    const [now] = await ask<{ at: string }>(node.url(), 'SELECT clock_timestamp()::text AS at')
    return now?.at ?? ''
  }
  const listAddresses = async () =>
    (await operate(({ listUsers }) => listUsers({}))).map(({ email }) => email)
  /** Makes users, several at the same time, until it is stopped. */
  const makeUsers = () => {
    const made: string[] = []
    let isStopping = false
    const running = operate(({ createUser }) => {
      const make = async (maker: number) => {
        for (let user = 0; !isStopping; user++) {
          const email = addressOf(`${maker}-${user}`)
          await createUser({ email })
          made.push(email)
        }
      }
      return Promise.all(Array.from({ length: MAKERS }, (_, maker) => make(maker)))
    })
    const stop = () => {
      isStopping = true
      return running
    }
    return { made, stop }
  }
  const expectWhole = async (kept: Awaited<ReturnType<typeof keep>>) => {
    await untilAnother(kept.stores)
    await more()
    await expectVoid(kept)
    const [store, other] = await storesNow()
    expect(other).to.deep.equal(store)
    const lacking = await sendAgain()
    expect(await expectClean('nowhere', { DATABASE_URL: database.url })).to.equal(measurements)
    return { lacking, restoredToMs: Date.parse(store?.restored_to ?? '') }
  }

  const nodes = {
    worker: () => citus().workers[0] ?? expect.fail('there is no worker'),
    coordinator: () => citus().coordinator,
  }

  it('lacks the latest, and says so, when it is a worker of an earlier time', async () => {
    await more()
    const backup = await backUp(nodes.worker())
    await more()
    const [at, pointMs, kept] = [await timeAt(nodes.worker()), Date.now(), await keep()]
    await more()
    await nodes.worker().kill()
    await until('it is noticed', async () => (await statuses()).flat().includes(503))
    expect(await statuses()).to.deep.equal([
      [503, 503],
      [200, 200],
    ])
    await citus().recover(nodes.worker(), backup, [`recovery_target_time=${at}`])
    const { lacking, restoredToMs } = await expectWhole(kept)
    expect(lacking[0]).to.be.greaterThan(0)
    expect(lacking[1]).to.equal(0)
    expect(restoredToMs).to.be.at.most(pointMs)
  })

  it('lacks the latest users when it is a coordinator of an earlier time', async () => {
    const node = nodes.coordinator()
    await operate(({ createUser }) => createUser({ email: addressOf('deleted') }))
    await more()
    const backup = await backUp(node)
    await more()
    const [kept, at] = [await keep(), await timeAt(node)]
    await operate(({ deleteUser }) => deleteUser({ user: addressOf('deleted') }))
    const { id } = await operate(({ createUser }) => createUser({ email: addressOf('made') }))
    await more()
    await node.kill()
    await until('it is noticed', async () => (await statuses()).flat().every((one) => one === 503))
    await citus().recover(node, backup, [`recovery_target_time=${at}`])
    const { lacking } = await expectWhole(kept)
    expect(lacking).to.deep.equal([0, 0])
    const addresses = await listAddresses()
    expect(addresses).to.include(`user-${id}@restored.invalid`)
    expect(addresses).not.to.include(addressOf('deleted'))
  })

  for (const [name, find] of Object.entries(nodes)) {
    it(`has all that was acknowledged when it is a ${name} with all of its log`, async () => {
      const backup = await backUp(find())
      await more()
      const kept = await keep()
      await find().kill()
      await until('it is noticed', async () => (await statuses()).flat().includes(503))
      await citus().recover(find(), backup)
      expect((await expectWhole(kept)).lacking).to.deep.equal([0, 0])
    })
  }

  for (const isServing of [true, false]) {
    const meanwhile = isServing ? 'services run' : 'none runs'
    it(`is at one point with all others, restored while ${meanwhile}`, async () => {
      const all = [citus().coordinator, ...citus().workers]
      const backups = new Map<PostgresServer, PostgresServer>()
      for (const node of all) backups.set(node, await backUp(node))
      const kept = await keep()
      const making = makeUsers()
      await until('users are made', () => making.made.length >= MAKERS)
      const before = [...making.made]
      await citus().leavePrepared(database.name)
      await ask(database.url, 'SELECT citus_create_restore_point($1)', addressOf('point'))
      const pointMs = Date.now()
      await more()
      await making.stop()
      await operate(({ createUser }) => createUser({ email: addressOf('late') }))
      if (!isServing) await stopServices()
      for (const node of all) await node.kill()
      const target = [`recovery_target_name=${addressOf('point')}`]
      for (const [node, backup] of backups) await citus().recover(node, backup, target)
      if (!isServing) await startServices()
      const { lacking, restoredToMs } = await expectWhole(kept)
      for (const count of lacking) expect(count).to.be.greaterThan(0)
      expect(restoredToMs).to.be.at.most(pointMs)
      const addresses = await listAddresses()
      expect(addresses).to.include.members(before)
      expect(addresses).not.to.include(addressOf('late'))
    })
  }

  it('is another store at the address of its standby', async () => {
    const worker = nodes.worker()
    const standby = await citus().standBy(worker)
    await more()
    const kept = await keep()
    await more()
    await worker.kill()
    await until('it is noticed', async () => (await statuses()).flat().includes(503))
    standby.promote()
    await citus().replace(database.name, worker, standby)
    const { lacking } = await expectWhole(kept)
    expect(lacking[1]).to.equal(0)
  })
})
