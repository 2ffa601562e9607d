// What every keeper of users, access tokens and sensors promises.
// Goal: who may do what, and what is shown of sensors, never depends on the engine. Method: one
// suite against the ports, called by the tests of each engine.

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { ALL_RIGHTS, type UserChange } from '../../src/domain/access.ts'
import { refusedUserBytesMax } from '../../src/domain/limits.ts'
import type { Refused, RefusedEntry, RefusedListing } from '../../src/ports/refused.ts'
import {
  accept,
  measurement,
  newUser,
  NOW_MS,
  openForEach,
  PERMISSIVE,
  submission,
} from './open-data.ts'
import type { NewData, OpenData } from './open-data.ts'

/** Declares the suite for one engine. */
export function describeControl(name: string, newData: NewData): void {
  describe(`${name} as the keeper of control data`, () => {
    let data: OpenData
    let userId: number
    const reopen = openForEach(newData, (opened, id) => {
      data = opened
      userId = id
    })
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

      it('is given another name and address, unless somebody else has that', async () => {
        const ana = await data.controlWriter.createUser('ana@example.org', 'A')
        await data.controlWriter.createUser('ben@example.org', 'B')
        const rename = (to: UserChange) => data.controlWriter.renameUser(ana?.id ?? 0, to)
        expect((await rename({ email: 'ANA@example.org' }))?.email).to.equal('ANA@example.org')
        await Promise.all([rename({ email: 'anna@example.org' }), rename({ name: 'Anna' })])
        const renamed = { ...ana, email: 'anna@example.org', name: 'Anna' }
        expect(await rename({ email: 'BEN@example.org', name: 'B' })).to.equal(undefined)
        expect(await data.control.findUser('Anna@example.org')).to.deep.equal(renamed)
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
        const found = await data.control.findSensors(userId, ['28-FF-64-1E-93', 'ATTIC', 'none'])
        const serialNumbers = found.map(({ serialNumber }) => serialNumber)
        expect(serialNumbers).to.have.members(['28:FF:64:1E:93', 'attic'])
      })

      it('is its owner’s alone', async () => {
        const { id } = await createSensor('cellar')
        const other = await newUser(data)
        expect(await data.control.findSensor(other, id)).to.equal(undefined)
        expect(await data.control.findSensors(other, ['cellar'])).to.deep.equal([])
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
        expect(await data.control.countMeasurements([id])).to.equal(2)
      })

      it('is gone when it is deleted, and its id is never given again', async () => {
        const { id } = await createSensor('cellar')
        expect(await data.controlWriter.deleteSensor(userId, id)).to.equal(true)
        expect(await data.controlWriter.deleteSensor(userId, id)).to.equal(false)
        expect(await data.control.findSensorOfAnyone(id)).to.equal(undefined)
        await reopen()
        expect((await createSensor('cellar')).id).not.to.equal(id)
      })
    })

    describe('the sensors of a user', () => {
      it('have another version with every change that is shown', async () => {
        const versions: string[] = []
        const look = async () => {
          versions.push(
            await data.control.readSensorsVersion(userId, { sinceMs: 0, untilMs: NOW_MS }),
          )
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
        // Without any it is not what it was at first, either.
        expect(new Set(versions).size).to.equal(5)
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

    describe('what was refused', () => {
      const refusedOf = (ofUser: number, ...contents: readonly string[]): Refused[] =>
        contents.map((content) => ({
          userId: ofUser,
          tokenId: 0,
          kind: 'line',
          content,
          fields: null,
          unitNs: '1',
          serialNumberPrefix: 'p.',
          reason: 'no',
          receivedAtMs: NOW_MS,
          aheadAtMs: null,
          count: 1,
        }))
      const list = (question: Partial<RefusedListing> = {}) =>
        data.control.listRefused({ isOldestFirst: true, limit: 1_000, ...question })
      const contents = async (question?: Partial<RefusedListing>) =>
        (await list(question)).map(({ content }) => content[0])

      it('is kept, each kind and part with its content, until it is dropped', async () => {
        const { token } = await createToken()
        const [one] = refusedOf(userId, 'x\xe9')
        const refused = (['line', 'cut-line', 'element'] as const).flatMap((kind) =>
          [null, [0, 7]].map((fields) => ({ ...one!, tokenId: token.id, kind, fields })),
        )
        await data.controlWriter.keepRefused(refused)
        await reopen()
        const names = {
          userEmail: (await data.control.listUsers())[0]?.email,
          tokenName: 'gateway',
        }
        expect((await list()).map(({ id: _id, ...rest }) => rest)).to.deep.equal(
          refused.map((each) => ({ ...each, ...names, count: 1 })),
        )
        expect(await data.controlWriter.dropRefused(undefined)).to.equal(6)
      })

      it('is listed from either end, of one user or all', async () => {
        const other = await newUser(data)
        await data.controlWriter.keepRefused(refusedOf(userId, 'a', 'b', 'c'))
        await data.controlWriter.keepRefused(refusedOf(other, 'd', 'e'))
        expect(await contents()).to.deep.equal(['a', 'b', 'c', 'd', 'e'])
        expect(await contents({ isOldestFirst: false, limit: 2 })).to.deep.equal(['e', 'd'])
        const [, second] = await list()
        const behind = { afterId: second!.id, userId }
        expect(await contents(behind)).to.deep.equal(['c'])
        expect(await contents({ ...behind, isOldestFirst: false })).to.deep.equal(['a'])
        const counts = await Promise.all(
          [undefined, userId, other].map((of) => data.control.countRefused(of)),
        )
        expect(counts.map(({ count }) => count)).to.deep.equal([5, 3, 2])
      })

      it('as ahead is found between two others, by how much ahead it was', async () => {
        const times = [-1, 0, 5, 9, 10].map((receivedAtMs) =>
          [3, 4, null].map((aheadMs) => ({
            receivedAtMs,
            aheadAtMs: aheadMs === null ? null : receivedAtMs + aheadMs,
          })),
        )
        const refused = times
          .flat()
          .map((time, at) => ({ ...refusedOf(userId, `${at}`)[0]!, ...time }))
        await data.controlWriter.keepRefused(refused)
        const all = await list()
        const [afterId, throughId] = [all[2]!.id, all[11]!.id]
        const ahead = { afterId, throughId, aheadMsMax: 3 }
        const found = await data.control.listAheadRefused(ahead, 10)
        expect(found.map(({ receivedAtMs }) => receivedAtMs)).to.deep.equal([0, 5, 9])
        const first = await data.control.listAheadRefused(ahead, 1)
        expect(first.map(({ receivedAtMs }) => receivedAtMs)).to.deep.equal([0])
      })

      it('stays as it is when it arrives again while it is retried', async () => {
        const [one] = refusedOf(userId, 'x')
        const again = { ...one!, aheadAtMs: NOW_MS + 1 }
        await data.controlWriter.keepRefused([one!])
        const [{ id, count }] = (await list()) as [RefusedEntry]
        await data.controlWriter.keepRefused([again])
        const { noteRefusedRetries } = data.controlWriter
        for (const reason of [undefined, 'still']) {
          expect(await noteRefusedRetries([{ id, count, reason }])).to.equal(0)
        }
        expect((await list())[0]).to.include({ reason: 'no', count: 2, aheadAtMs: NOW_MS + 1 })
        await noteRefusedRetries([{ id, count: 2, reason: 'still' }])
        expect((await list())[0]).to.include({ reason: 'still', count: 2, aheadAtMs: NOW_MS + 1 })
        const stored = { id, count: 2, reason: undefined }
        expect(await noteRefusedRetries([stored])).to.equal(1)
        expect(await list()).to.deep.equal([])
      })

      it('is counted in bytes as they are stored', async () => {
        const text = '\xe9'.repeat(500_000)
        const bytes = Buffer.byteLength(text) + 'no'.length + 256
        const room = Math.floor(refusedUserBytesMax / (bytes + 1))
        await data.controlWriter.keepRefused(
          refusedOf(userId, ...'abcdefghij'.split('').map((a) => a + text)),
        )
        const dropped = 10 - room
        expect(await data.control.countRefused()).to.deep.equal({ count: room, dropped })
        const [oldest] = (await list()) as [RefusedEntry]
        const { id, count } = oldest
        const reason = 'x'.repeat(600_000)
        await data.controlWriter.noteRefusedRetries([{ id, count, reason }])
        expect((await data.control.countRefused()).dropped).to.equal(dropped + 1)
      })

      it('of the user who has most gives way to that of others', async () => {
        const half = 'x'.repeat(refusedUserBytesMax / 2 - 1_000)
        const users: number[] = []
        while (users.length < 9) users.push(await newUser(data))
        const [largest, ninth, ...others] = users.toReversed() as [number, number, ...number[]]
        for (const user of [...others, largest]) {
          const more = user === largest ? 'xxx' : ''
          await data.controlWriter.keepRefused(refusedOf(user, `1${more}${half}`, `2${half}`))
        }
        await data.controlWriter.keepRefused(refusedOf(ninth, `3${half.slice(0, 20_000)}`))
        await data.controlWriter.keepRefused(refusedOf(ninth, ...'abcdefghijklmnopqrst'))
        const counts = await Promise.all(users.map((user) => data.control.countRefused(user)))
        const [kept, ofNinth] = [2, 21].map((count) => ({ count, dropped: 0 }))
        const ofLargest = { count: 1, dropped: 1 }
        expect(counts.toReversed()).to.deep.equal([ofLargest, ofNinth, ...others.map(() => kept)])
        expect(await contents({ userId: largest })).to.deep.equal(['2'])
        await data.controlWriter.deleteUser(largest)
        await data.controlWriter.keepRefused(refusedOf(largest, 'late'))
        expect((await data.control.countRefused()).count).to.equal(2 * 7 + 21)
      })
    })

    it('notes what was skipped, of one user or all, and of nobody who is gone', async () => {
      const other = await newUser(data)
      const gone = await newUser(data)
      await data.controlWriter.deleteUser(gone)
      const of = { series: 's', count: 2, lastAtMs: NOW_MS }
      await data.controlWriter.noteSkipped(
        [userId, other, gone].map((ofUser) => ({ ...of, userId: ofUser, line: `of ${ofUser}` })),
      )
      const lines = async (ofUser?: number) =>
        (await data.control.listSkipped(10, ofUser)).map(({ line }) => line)
      expect(await lines()).to.deep.equal([`of ${userId}`, `of ${other}`])
      expect(await lines(other)).to.deep.equal([`of ${other}`])
      expect(await data.control.countSkipped()).to.equal(2)
      expect(await data.control.countSkipped(other)).to.equal(1)
      const [first] = await data.control.listSkipped(1)
      expect(first?.userEmail).to.equal((await data.control.listUsers())[0]?.email)
    })
  })
}
