// Goal: a DATA_DIR knows which store has its measurements, and a store that is another server gets
// what it needs besides: the sensors' names, and again what it may have lost. Method: the ports,
// over the threads that write.

import { expect } from 'chai'
import { accept, measurement, openForEach, placesOf, submission } from '../contract/open-data.ts'
import { newSqliteData } from '../support/sqlite-data.ts'
import type { SqliteData } from '../support/sqlite-data.ts'

const ALL = 1_000
const WRITTEN = { setAside: [], durationMs: 1 }

describe('the measurement store of a DATA_DIR', () => {
  let data: SqliteData
  let userId: number
  const reopen = openForEach(newSqliteData, (opened, id) => {
    data = opened
    userId = id
  })
  const send = async (...serialNumbers: readonly string[]) => {
    const sent = serialNumbers.map((serialNumber) => measurement({ serialNumber }))
    return (await accept(data, submission(userId, ...sent))).at(0)
  }
  const createSensor = async (serialNumber: string) => {
    const sensor = await data.controlWriter.createSensor(userId, serialNumber, undefined)
    if (typeof sensor !== 'object') throw new Error(`${serialNumber}: ${sensor}`)
    return sensor
  }

  const settleAll = async () => {
    for (let batch = await data.queue.claim(ALL); batch; batch = await data.queue.claim(ALL)) {
      await data.queue.settle(batch, WRITTEN)
    }
  }

  it('is named once, and another one only while it has nothing', async () => {
    expect(await data.store.readStoreName()).to.equal(undefined)
    expect(await data.storeChoice.adoptStore('one')).to.equal('one')
    expect(await data.storeChoice.adoptStore('two')).to.equal('two')
    await send('cellar')
    expect(await data.storeChoice.adoptStore('one')).to.equal('two')
    await reopen()
    expect(await data.store.readStoreName()).to.equal('two')
  })

  it('is switched when the one in use is named, with what is to be deleted there', async () => {
    await data.storeChoice.adoptStore('one')
    const { sensorId } = await send('cellar')
    await data.controlWriter.deleteSensor(userId, sensorId)
    const other = await createSensor('attic')
    const leftovers = [{ userId, sensorId: other.id, range: { startMs: 0, stopMs: 1 } }]
    const { switchStore } = data.storeChoice
    expect(await switchStore({ from: 'x', to: 'two', leftovers })).to.equal(false)
    expect(await data.control.countSensorDeletions()).to.equal(1)
    expect(await switchStore({ from: 'one', to: 'two', leftovers })).to.equal(true)
    expect(await data.store.readStoreName()).to.equal('two')
    expect(await data.control.countSensorDeletions()).to.equal(2)
  })

  it('is told what the sensors of all users are called, and whose a deleted one was', async () => {
    const { id } = await createSensor('cellar')
    await data.controlWriter.changeSensor(userId, id, { alias: 'Cellar' })
    const gone = await createSensor('attic')
    await data.controlWriter.deleteSensor(userId, gone.id)
    const infos = await data.store.listSensorInfos()
    expect(infos).to.have.lengthOf(1)
    expect(infos[0]).to.include({ userId, sensorId: id, alias: 'Cellar' })
    expect(await data.store.findOwnerOfDeleted(gone.id)).to.equal(userId)
    for (const other of [id, 2 ** 31]) {
      expect(await data.store.findOwnerOfDeleted(other)).to.equal(undefined)
    }
  })

  it('hears from the journal what they are called, at registration and each change', async () => {
    const { sensorId } = await send('cellar')
    await data.controlWriter.changeSensor(userId, sensorId, { alias: 'Cellar' })
    const infos: string[] = []
    for (let batch = await data.queue.claim(ALL); batch; batch = await data.queue.claim(ALL)) {
      infos.push(...batch.sensorInfos.map(({ alias }) => alias))
    }
    expect(infos).to.deep.equal(['cellar', 'Cellar'])
  })

  it('gets again what was forwarded, without sensors that are deleted by then', async () => {
    expect(await data.queue.replay('first')).to.equal(undefined)
    const { sensorId } = await send('cellar', 'attic')
    await settleAll()
    expect(await data.queue.replay('first')).to.equal(undefined)
    const replay = await data.queue.replay('second')
    const before = await replay?.read(ALL)
    expect(before?.measurements.count).to.equal(2)
    await data.controlWriter.deleteSensor(userId, sensorId)
    const after = await replay?.read(ALL)
    if (after === undefined) throw new Error('it was not passed')
    expect(placesOf(after.measurements)).not.to.include(`${sensorId}:0:0`)
    expect(after.measurements.count).to.equal(1)
    expect(after.sensorInfos.map((info) => info.serialNumber)).to.deep.equal(['attic'])
    await replay?.pass(after)
    expect(await replay?.read(ALL)).to.equal(undefined)
  })

  it('may be given way to while the oldest row is young', async () => {
    expect(await data.queue.oldestAtMs()).to.equal(undefined)
    await send('cellar')
    expect(await data.queue.oldestAtMs()).to.be.a('number')
    await settleAll()
    expect(await data.queue.oldestAtMs()).to.equal(undefined)
  })

  it('may be given way to when more comes than is claimed', async () => {
    for (let row = 0; row < 3; row++) await send('cellar', 'attic')
    expect((await data.queue.claim(1))?.isOutrun).to.equal(true)
    expect((await data.queue.claim(1))?.isOutrun).to.equal(false)
  })
})
