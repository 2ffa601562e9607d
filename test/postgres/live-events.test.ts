// Goal: whoever applies live events has what a list shows, also when they come again at another
// process. Method: anything happens in any order to sensors of a user that two processes watch; a
// client takes some of it from one or the other, and is compared.

import { expect } from 'chai'
import fc from 'fast-check'
import { SensorWatch } from '../../src/sensors/sensor-watch.ts'
import { accept, measurement, newUser, PERMISSIVE } from '../contract/open-data.ts'
import type { OpenData } from '../contract/open-data.ts'
import { FakeClock } from '../support/clock.ts'
import { LiveClient, OFFLINE_AFTER_MS, ONLINE, shownOf } from '../support/live-client.ts'
import { ask } from '../support/lanes.ts'
import { openProcess } from '../support/postgres-process.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

const NAMES = ['a', 'b', 'c', 'd']
const RUNS = 15

describe('live events of two processes', () => {
  const postgres = usePostgres()
  const clock = new FakeClock()
  let database: TestDatabase
  let processes: OpenData[] = []
  let userId: number
  let cursorSecret: Uint8Array

  before(async () => {
    database = await newMigratedDatabase(postgres())
    const rules = { ...PERMISSIVE, sensorsPerUserMax: 100 }
    processes = [await openProcess(database.url, rules), await openProcess(database.url, rules)]
    cursorSecret = await processOf(0).control.readCursorSecret()
  })
  beforeEach(async () => {
    userId = await newUser(processOf(0))
  })
  after(async () => {
    await Promise.all(processes.map((one) => one.close()))
    await database?.remove()
  })

  const processOf = (at: number): OpenData => {
    const data = processes[at]
    if (data === undefined) throw new Error(`no process ${at}`)
    return data
  }
  const list = () => processOf(0).control.listSensors(userId)
  const sensors = { clock, list }
  const newWatch = (at: number, watchedDeletionsMax = 1_000) => {
    const settings = { ...ONLINE, watchedDeletionsMax }
    const { control } = processOf(at)
    return new SensorWatch(userId, { control, clock, cursorSecret }, settings)
  }
  const submit = (at: number, serialNumber: string, tempCelsius = 20) => {
    const nowMs = clock.nowMs()
    const one = measurement({ serialNumber, tempCelsius, measuredAtMs: nowMs })
    return accept(processOf(at), { userId, receivedAtMs: nowMs, measurements: [one] })
  }
  const idOf = async (name: string) =>
    (await list()).find(({ serialNumber }) => serialNumber === name)?.id ?? 0
  /** A client that knows what there is. */
  const newClient = async (watch: SensorWatch) => {
    await watch.look()
    const client = new LiveClient(sensors, userId, watch)
    await client.load()
    return client
  }

  const at = fc.constantFrom(0, 1)
  const name = fc.constantFrom(...NAMES)
  const happenings = fc.array(
    fc.oneof(
      fc.record({ what: fc.constant('submit' as const), at, name, temp: fc.integer() }),
      fc.record({ what: fc.constant('rename' as const), at, name }),
      fc.record({ what: fc.constant('delete' as const), at, name }),
      fc.record({ what: fc.constant('wait' as const), ms: fc.constantFrom(30_000, 70_000) }),
      fc.record({ what: fc.constant('look' as const), at }),
      fc.record({ what: fc.constant('take' as const), allowance: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ what: fc.constant('come again' as const), at }),
    ),
    { maxLength: 30 },
  )
  type Happening = typeof happenings extends fc.Arbitrary<(infer One)[]> ? One : never

  async function happen(
    it: Happening,
    watches: readonly SensorWatch[],
    client: LiveClient,
  ): Promise<void> {
    if (it.what === 'submit') await submit(it.at, it.name, it.temp)
    if (it.what === 'wait') clock.advanceMs(it.ms)
    if (it.what === 'look') await watches[it.at]?.look()
    if (it.what === 'take') await client.take(it.allowance)
    if (it.what === 'come again') await client.comeAgain(watches[it.at])
    if (it.what !== 'rename' && it.what !== 'delete') return
    const { controlWriter } = processOf(it.at)
    const id = await idOf(it.name)
    if (it.what === 'delete') await controlWriter.deleteSensor(userId, id)
    else await controlWriter.changeSensor(userId, id, { alias: `${clock.nowMs()}` })
  }

  it('bring a client to what a list shows, whatever happens and wherever it comes', async () => {
    const story = fc.asyncProperty(happenings, async (all) => {
      userId = await newUser(processOf(0))
      const watches = [newWatch(0), newWatch(1)]
      await Promise.all(watches.map((watch) => watch.look()))
      const client = await newClient(watches[0] ?? newWatch(0))
      for (const happening of all) await happen(happening, watches, client)
      await Promise.all(watches.map((watch) => watch.look()))
      await client.take(Infinity)
      expect(client.known).to.deep.equal(await shownOf(sensors, userId))
      expect(client.resets).to.equal(0)
      expect(await client.take(Infinity), 'there is nothing more').to.equal(0)
    })
    await fc.assert(story, { numRuns: RUNS })
  })

  it('are only what was missed', async () => {
    for (const one of NAMES) await submit(0, one)
    const watch = newWatch(0)
    const client = await newClient(watch)
    await submit(1, 'b', 21)
    await client.comeAgain(newWatch(1))
    expect(await client.take(Infinity)).to.equal(1)
  })

  it('leave nothing out when only some were taken, here or there', async () => {
    for (const one of NAMES) await submit(0, one)
    const watch = newWatch(0)
    const client = await newClient(watch)
    for (const one of NAMES) await submit(1, one, 21)
    await watch.look()
    for (const next of [watch, newWatch(1), newWatch(0), newWatch(1)]) {
      await client.comeAgain(next)
      expect(await client.take(1)).to.equal(1)
    }
    await client.take(Infinity)
    expect(client.known).to.deep.equal(await shownOf(sensors, userId))
  })

  it('tell what went silent between one process and the other', async () => {
    await submit(0, 'a')
    const client = await newClient(newWatch(0))
    clock.advanceMs(OFFLINE_AFTER_MS + 1)
    await client.comeAgain(newWatch(1))
    expect(await client.take(Infinity)).to.equal(1)
    expect(client.known.map(({ isOnline }) => isOnline)).to.deep.equal([false])
  })

  it('begin with a reset for an event of other data', async () => {
    const watch = newWatch(0)
    await watch.look()
    const { id } = watch.end
    const other = newWatch(1)
    expect(await other.placeAfter(id)).to.have.property('missed')
    await ask(database.url, "UPDATE data_identity SET epoch = 'fff'")
    expect(await other.placeAfter(id)).to.equal(undefined)
  })

  it('begin with a reset when too many sensors were deleted', async () => {
    for (const one of NAMES) await submit(0, one)
    const client = await newClient(newWatch(0))
    for (const { id } of await list()) await processOf(1).controlWriter.deleteSensor(userId, id)
    await client.comeAgain(newWatch(1, 3))
    expect(await client.take(Infinity)).to.equal(1)
    expect([client.resets, client.known]).to.deep.equal([1, []])
  })
})
