// What every keeper of users, access tokens and sensors promises.
// Goal: who may do what, and what is shown of sensors, never depends on the engine. Method: one
// suite against the ports, called by the tests of each engine.

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { ALL_RIGHTS } from '../../src/domain/access.ts'
import { accept, measurement, newUser, NOW_MS, PERMISSIVE, submission } from './open-data.ts'
import type { NewData, OpenData, TestData } from './open-data.ts'

const NEVER_KNOWN = () => false

/** Declares the suite for one engine. */
export function describeControl(name: string, newData: NewData): void {
  describe(`${name} as the keeper of control data`, function () {
    this.timeout(60_000)
    let files: TestData
    let data: OpenData
    let userId: number
    beforeEach(async () => {
      files = await newData(PERMISSIVE)
      data = await files.open()
      userId = await newUser(data)
    })
    afterEach(async () => {
      await data.close()
      await files.remove()
    })

    const reopen = async () => {
      await data.close()
      data = await files.open()
    }
    const createToken = async (expiresAtMs: number | null = null) => {
      const hash = randomBytes(32)
      const order = { userId, kind: 'daemon', name: 'gateway', rights: ALL_RIGHTS } as const
      return { hash, token: await data.controlWriter.createToken({ ...order, hash, expiresAtMs }) }
    }
    const createSensor = async (serialNumber: string) => {
      const sensor = await data.controlWriter.createSensor(userId, serialNumber, undefined)
      if (typeof sensor !== 'object') throw new Error(`${serialNumber}: ${sensor}`)
      return sensor
    }
    const send = async (serialNumber: string) =>
      (await accept(data, submission(userId, measurement({ serialNumber })))).at(0)

    it('knows which data these are, and says the same after a start', async () => {
      const identity = await data.control.readDataIdentity()
      expect(identity.id).to.match(/^[\w-]{16,}$/)
      expect(identity.restoredToMs).to.equal(null)
      await reopen()
      expect(await data.control.readDataIdentity()).to.deep.equal(identity)
      const others = await newData(PERMISSIVE)
      const other = await others.open()
      expect((await other.control.readDataIdentity()).id).not.to.equal(identity.id)
      await other.close()
      await others.remove()
    })

    describe('a user', () => {
      it('is found by the address, however it is written, and has it alone', async () => {
        const ana = await data.controlWriter.createUser('Ana@Example.org', '')
        expect(ana).to.include({ email: 'Ana@Example.org', name: 'Ana@Example.org' })
        expect(await data.control.findUser('ana@EXAMPLE.ORG')).to.deep.equal(ana)
        expect(await data.controlWriter.createUser('ANA@example.org', 'B')).to.equal(undefined)
        expect(await data.control.listUsers()).to.deep.include(ana)
      })

      it('takes tokens and sensors along, and leaves an id that is never given again', async () => {
        const { hash } = await createToken()
        await send('cellar')
        expect(await data.controlWriter.deleteUser(userId)).to.equal(1)
        expect(await data.controlWriter.deleteUser(userId)).to.equal(undefined)
        expect(await data.control.findPrincipal(hash)).to.equal(undefined)
        expect(await data.control.listSensors(userId)).to.deep.equal([])
        expect(await data.control.countSensorDeletions()).to.equal(1)
        await reopen()
        expect(await newUser(data)).to.be.greaterThan(userId)
      })
    })

    describe('a token', () => {
      it('leads to its user from the moment it is made, also after a start', async () => {
        const { hash, token } = await createToken(NOW_MS)
        await reopen()
        const principal = await data.control.findPrincipal(hash)
        expect(principal?.token).to.deep.equal(token)
        expect(principal?.user.id).to.equal(userId)
        expect(await data.control.findPrincipal(randomBytes(32))).to.equal(undefined)
        expect(await data.control.listTokens(userId)).to.deep.equal([token])
      })

      it('is revoked once', async () => {
        const { hash, token } = await createToken()
        expect(await data.controlWriter.revokeToken(token.id)).to.equal(true)
        expect(await data.controlWriter.revokeToken(token.id)).to.equal(false)
        expect((await data.control.findPrincipal(hash))?.token.revokedAtMs).to.be.a('number')
      })

      it('remembers its latest use', async () => {
        const { hash, token } = await createToken()
        for (const usedAtMs of [NOW_MS, NOW_MS - 1]) {
          await data.controlWriter.recordTokenUses(new Map([[token.id, usedAtMs]]))
        }
        expect((await data.control.findPrincipal(hash))?.token.lastUsedAtMs).to.equal(NOW_MS)
      })

      it('is replaced by one like it, and works on for a while', async () => {
        const { hash, token } = await createToken()
        const another = randomBytes(32)
        const order = { hash: another, nowMs: NOW_MS, overlapMs: 1_000 }
        const rotated = await data.controlWriter.rotateToken(token.id, order)
        expect(rotated?.token).to.include({ name: token.name, userId, expiresAtMs: null })
        expect(rotated?.oldExpiresAtMs).to.equal(NOW_MS + 1_000)
        const old = await data.control.findPrincipal(hash)
        expect(old?.token.expiresAtMs).to.equal(NOW_MS + 1_000)
        expect((await data.control.findPrincipal(another))?.token.id).to.equal(rotated?.token.id)
        await data.controlWriter.revokeToken(token.id)
        expect(await data.controlWriter.rotateToken(token.id, order)).to.equal(undefined)
      })
    })

    describe('a sensor', () => {
      it('is one however it is spelled, within the quota', async () => {
        const cellar = await createSensor('28:FF:64:1E:93')
        const { createSensor: create } = data.controlWriter
        expect(await create(userId, '28ff641e93', undefined)).to.equal('taken')
        await createSensor('attic')
        await createSensor('roof')
        expect(await create(userId, 'garden', undefined)).to.equal('quota')
        expect((await send('28ff641e93')).sensorId).to.equal(cellar.id)
      })

      it('is its owner’s alone', async () => {
        const { id } = await createSensor('cellar')
        const other = await newUser(data)
        expect(await data.control.findSensor(other, id)).to.equal(undefined)
        expect(await data.controlWriter.changeSensor(other, id, { alias: 'x' })).to.equal(undefined)
        expect(await data.controlWriter.deleteSensor(other, id)).to.equal(false)
        expect((await data.control.findSensor(userId, id))?.alias).to.equal('cellar')
      })

      it('is changed in what is named, and shows its latest time', async () => {
        const { id } = await createSensor('cellar')
        await data.controlWriter.changeSensor(userId, id, { compensationCelsius: -0.4 })
        await data.controlWriter.changeSensor(userId, id, { alias: 'Cellar' })
        const times = [NOW_MS + 5, NOW_MS].map((measuredAtMs) =>
          measurement({ serialNumber: 'cellar', measuredAtMs }),
        )
        await accept(data, submission(userId, ...times))
        const sensor = await data.control.findSensor(userId, id)
        expect(sensor).to.include({ alias: 'Cellar', compensationCelsius: -0.4 })
        expect(sensor?.latest).to.deep.equal({ measuredAtMs: NOW_MS + 5, rawCelsius: 11.75 })
        expect(await data.control.countMeasurements(id)).to.equal(2)
      })

      it('is gone when it is deleted, and its id is never given again', async () => {
        const { id } = await createSensor('cellar')
        expect(await data.controlWriter.deleteSensor(userId, id)).to.equal(true)
        expect(await data.controlWriter.deleteSensor(userId, id)).to.equal(false)
        expect(await data.control.findSensorOfAnyone(id)).to.equal(undefined)
        expect(await data.store.findOwnerOfDeleted(id)).to.equal(userId)
        await reopen()
        expect((await createSensor('cellar')).id).not.to.equal(id)
      })
    })

    describe('the sensors of a user', () => {
      it('have another version with every change that is shown', async () => {
        const versions: string[] = []
        const look = async () => {
          const { version, sensors } = await data.control.readSensors(userId, 0, NEVER_KNOWN)
          expect(sensors).to.deep.equal(await data.control.listSensors(userId))
          versions.push(version)
        }
        await look()
        const { id } = await createSensor('cellar')
        await look()
        await data.controlWriter.changeSensor(userId, id, { alias: 'Cellar' })
        await look()
        await send('cellar')
        await look()
        await data.controlWriter.deleteSensor(userId, id)
        await look()
        // Without any it is as it was at first.
        expect(new Set(versions.slice(0, 4)).size).to.equal(4)
        expect(versions[4]).not.to.equal(versions[3])
      })

      it('are not read when their version is known', async () => {
        await send('cellar')
        const { version } = await data.control.readSensors(userId, 0, NEVER_KNOWN)
        const again = await data.control.readSensors(userId, 0, (one) => one === version)
        expect(again).to.deep.equal({ version, sensors: undefined })
      })

      it('are news after a look when something has come, and only those', async () => {
        await send('cellar')
        await send('attic')
        const first = await data.control.readSensorNews(userId, undefined)
        expect([first.isWhole, first.sensors.length]).to.deep.equal([true, 2])
        const none = await data.control.readSensorNews(userId, first.cursor)
        expect([none.isWhole, none.sensors]).to.deep.equal([false, []])
        const { sensorId } = await send('attic')
        const some = await data.control.readSensorNews(userId, none.cursor)
        expect(some.sensors.map(({ id }) => id)).to.deep.equal([sensorId])
        await data.controlWriter.changeSensor(userId, sensorId, { alias: 'Attic' })
        const changed = await data.control.readSensorNews(userId, some.cursor)
        expect([changed.isWhole, changed.sensors.length]).to.deep.equal([true, 2])
      })

      it('have their measurements counted by day', async () => {
        const { sensorId } = await send('cellar')
        const day = { dayMs: NOW_MS, measurements: 1 }
        const range = { startMs: NOW_MS, stopMs: NOW_MS + 1 }
        expect(await data.control.listAcceptedDays(sensorId, range)).to.deep.equal([day])
        const before = { startMs: NOW_MS - 1, stopMs: NOW_MS }
        expect(await data.control.listAcceptedDays(sensorId, before)).to.deep.equal([])
      })
    })

    it('keeps what was refused, each kind with its content, until it is dropped', async () => {
      const { token } = await createToken()
      const of = { userId, tokenId: token.id, unitNs: '1', serialNumberPrefix: 'p.', reason: 'no' }
      const refused = (['line', 'cut-line', 'element'] as const).map((kind) => ({
        ...of,
        kind,
        content: 'x\xe9',
        receivedAtMs: NOW_MS,
        retryAtMs: null,
      }))
      await data.controlWriter.keepRefused(refused)
      await reopen()
      const kept = await data.control.listRefused(0, 10)
      expect(kept.map(({ id: _id, ...rest }) => rest)).to.deep.equal(
        refused.map((one) => ({ ...one, count: 1 })),
      )
      expect(await data.control.listDueRefused(NOW_MS, 10)).to.deep.equal([])
      expect(await data.controlWriter.dropRefused(undefined)).to.equal(3)
    })

    describe('the measurement store', () => {
      it('is named once, and another one only while it has nothing', async () => {
        expect(await data.store.readStoreName()).to.equal(undefined)
        expect(await data.storeUpkeep.adoptStore('one')).to.equal('one')
        expect(await data.storeUpkeep.adoptStore('two')).to.equal('two')
        await send('cellar')
        expect(await data.storeUpkeep.adoptStore('one')).to.equal('two')
        await reopen()
        expect(await data.store.readStoreName()).to.equal('two')
      })

      it('is switched when the one in use is named, with what is to be deleted there', async () => {
        await data.storeUpkeep.adoptStore('one')
        const { sensorId } = await send('cellar')
        await data.controlWriter.deleteSensor(userId, sensorId)
        const other = await createSensor('attic')
        const range = { startMs: 0, stopMs: 1 }
        const leftovers = [{ userId, sensorId: other.id, range }]
        const { switchStore } = data.storeUpkeep
        expect(await switchStore({ from: 'x', to: 'two', leftovers })).to.equal(false)
        expect(await data.control.countSensorDeletions()).to.equal(1)
        expect(await switchStore({ from: 'one', to: 'two', leftovers })).to.equal(true)
        expect(await data.store.readStoreName()).to.equal('two')
        expect(await data.control.countSensorDeletions()).to.equal(2)
      })

      it('is told what the sensors of all users are called', async () => {
        const { id } = await createSensor('cellar')
        await data.controlWriter.changeSensor(userId, id, { alias: 'Cellar' })
        const gone = await createSensor('attic')
        await data.controlWriter.deleteSensor(userId, gone.id)
        const infos = await data.store.listSensorInfos()
        expect(infos).to.have.lengthOf(1)
        expect(infos[0]).to.include({ userId, sensorId: id, alias: 'Cellar' })
      })
    })
  })
}
