// What every journal promises.
// Goal: what is acknowledged, and what reaches the measurement store, never depends on the engine.
// Method: one suite against the ports, called by the tests of each engine.

import { getEventListeners } from 'node:events'
import { expect } from 'chai'
import type { SubmittedMeasurement } from '../../src/domain/measurement.ts'
import type { ClaimedBatch, VersionedSensor } from '../../src/ports/journal-queue.ts'
import { listAll } from '../support/measurements.ts'
import { until, within } from '../support/until.ts'
import {
  accept,
  asRefused,
  commit,
  measurement,
  newUser,
  NOW_MS,
  openForEach,
  placesOf,
  statuses,
  submission,
} from './open-data.ts'
import type { NewData, OpenData } from './open-data.ts'

const ALL = 1_000
const WRITTEN = { setAside: [], durationMs: 1 }
const RANGE = { startMs: NOW_MS - 1_000, stopMs: NOW_MS + 1_000 }

/** Declares the suite for one engine. */
export function describeJournal(name: string, newData: NewData): void {
  describe(`${name} as a journal`, () => {
    let data: OpenData
    let userId: number
    const reopen = openForEach(newData, (opened, id) => {
      data = opened
      userId = id
    })
    const send = (...changes: readonly Partial<SubmittedMeasurement>[]) =>
      accept(data, submission(userId, ...changes.map((change) => measurement(change))))
    const sensor = async (id: number) => {
      const found = await data.control.findSensor(userId, id)
      if (found === undefined) throw new Error(`no sensor ${id}`)
      return found
    }
    const mustClaim = async (measurementsMax = ALL): Promise<ClaimedBatch> => {
      const batch = await data.queue.claim(measurementsMax)
      if (batch === undefined) throw new Error('there is nothing to claim')
      return batch
    }
    /** Claims all that there is. */
    const claimAll = async (): Promise<string[]> => {
      const places: string[] = []
      for (let batch = await data.queue.claim(ALL); batch; batch = await data.queue.claim(ALL)) {
        places.push(...placesOf(batch.measurements))
      }
      return places
    }
    const settleAll = async () => {
      for (let batch = await data.queue.claim(ALL); batch; batch = await data.queue.claim(ALL)) {
        await data.queue.settle(batch, WRITTEN)
      }
    }

    describe('committing', () => {
      it('creates an event once, in a group, after it, and after a start', async () => {
        const event = measurement({ eventId: 'e1' })
        const [first] = await commit(data, submission(userId, event, event))
        expect(first && 'at' in first && statuses(first)).to.deep.equal(['created', 'duplicate'])
        expect(statuses(await accept(data, submission(userId, event)))).to.deep.equal(['duplicate'])
        await reopen()
        expect(statuses(await accept(data, submission(userId, event)))).to.deep.equal(['duplicate'])
        expect(await claimAll()).to.have.lengthOf(1)
      })

      it('creates an event once when many send it at the same time', async () => {
        const event = submission(userId, measurement({ eventId: 'e1' }))
        const outcomes = await Promise.all(Array.from({ length: 20 }, () => commit(data, event)))
        const found = outcomes
          .flat()
          .map((outcome) => ('at' in outcome ? outcome.at(0).status : ''))
        expect(found.filter((status) => status === 'created')).to.have.lengthOf(1)
        expect(found.filter((status) => status === 'duplicate')).to.have.lengthOf(19)
      })

      it('answers other content with what is stored', async () => {
        await accept(data, submission(userId, measurement({ eventId: 'e1' })))
        const other = measurement({ eventId: 'e1', tempCelsius: 12, serialNumber: 'attic' })
        const item = (await accept(data, submission(userId, other))).at(0)
        expect(item.status).to.equal('conflict')
        expect(item.existing).to.include({ serialNumber: 'cellar', tempCelsius: 11.75 })
        expect(await data.control.listSensors(userId)).to.have.lengthOf(1)
      })

      it('takes a repeat without a time for the same, whenever it comes', async () => {
        await accept(data, submission(userId, measurement({ eventId: 'e1' })))
        const repeat = measurement({ eventId: 'e1', measuredAtMs: null })
        const item = (await accept(data, { ...submission(userId, repeat), receivedAtMs: 1 })).at(0)
        expect(item).to.include({ status: 'duplicate', measuredAtMs: NOW_MS })
      })

      it('keeps the events of users apart', async () => {
        const event = measurement({ eventId: 'e1' })
        const other = await newUser(data)
        const [one, two] = await commit(data, submission(userId, event), submission(other, event))
        for (const outcome of [one, two]) {
          expect(outcome && 'at' in outcome && statuses(outcome)).to.deep.equal(['created'])
        }
      })

      it('keeps events without an id apart, also at one millisecond', async () => {
        const { count } = await send({}, {}, {})
        expect(count).to.equal(3)
        await send({})
        const sensorId = (await data.control.listSensors(userId))[0]?.id
        const places = [0, 1, 2, 3].map((tieBreak) => `${sensorId}:0:${tieBreak}`)
        expect((await claimAll()).toSorted()).to.deep.equal(places)
      })

      it('refuses a submission whole, and what it named stays free', async () => {
        const early = measurement({ serialNumber: 'new', measuredAtMs: 0 })
        const event = measurement({ eventId: 'e1', serialNumber: 'new' })
        const ofOthers = submission(userId, measurement())
        const [refused, taken] = await commit(data, submission(userId, event, early), ofOthers)
        const { code, faults } = asRefused(refused)
        expect([code, faults?.map(({ index }) => index)]).to.deep.equal(['validation_failed', [1]])
        expect(taken && 'at' in taken && statuses(taken)).to.deep.equal(['created'])
        const names = (await data.control.listSensors(userId)).map((one) => one.serialNumber)
        expect(names).to.deep.equal(['cellar'])
        expect(statuses(await accept(data, submission(userId, event)))).to.deep.equal(['created'])
      })

      it('registers no more sensors than a user may have', async () => {
        const named = ['a1', 'b1', 'c1', 'd1'].map((serialNumber) => measurement({ serialNumber }))
        const [refused] = await commit(data, submission(userId, ...named))
        expect(asRefused(refused).code).to.equal('sensor_quota')
        expect(await data.control.listSensors(userId)).to.deep.equal([])
        await accept(data, submission(userId, ...named.slice(0, 3)))
        expect(asRefused((await commit(data, submission(userId, ...named)))[0]).code).to.equal(
          'sensor_quota',
        )
      })

      it('answers a deleted user as their tokens are, whatever is sent', async () => {
        const event = measurement({ eventId: 'e1' })
        await accept(data, submission(userId, event))
        await data.controlWriter.deleteUser(userId)
        const other = await newUser(data)
        const early = measurement({ serialNumber: 'new', measuredAtMs: 0 })
        const sent = [event, measurement(), early].map((one) => submission(userId, one))
        const outcomes = await commit(data, ...sent, submission(other, measurement()))
        const codes = outcomes.map((one) => ('code' in one ? one.code : 'stored'))
        expect(codes).to.deep.equal([...sent.map(() => 'invalid_token'), 'stored'])
      })

      it('stores nothing of what is only checked', async () => {
        const group = data.committer.beginGroup()
        group.add(submission(userId, measurement({ eventId: 'e1', measuredAtMs: 0 })), true)
        group.add(submission(userId, measurement({ eventId: 'e2' })), true)
        const [wrong, right] = await data.committer.commit(group)
        expect(asRefused(wrong).faults).to.have.lengthOf(1)
        expect(asRefused(right).faults).to.deep.equal([])
        expect(await data.queue.claim(ALL)).to.equal(undefined)
      })

      it('gives a sensor another version with each new measurement, with no repeat', async () => {
        const sensorId = (await send({ eventId: 'e1' })).at(0).sensorId
        const versions = [(await sensor(sensorId)).dataVersion]
        await send({ eventId: 'e1' })
        expect((await sensor(sensorId)).dataVersion).to.equal(versions[0])
        await send({ eventId: 'e2', measuredAtMs: NOW_MS - 1 })
        versions.push((await sensor(sensorId)).dataVersion)
        await reopen()
        await send({ eventId: 'e3' })
        versions.push((await sensor(sensorId)).dataVersion)
        expect(new Set(versions).size).to.equal(3)
      })
    })

    describe('the queue', () => {
      it('hands out what is accepted once, in the order of a sensor', async () => {
        const { sensorId } = (await send({}, { measuredAtMs: NOW_MS + 5 })).at(0)
        await send({ measuredAtMs: NOW_MS + 3 })
        expect(await claimAll()).to.deep.equal([0, 5, 3].map((ms) => `${sensorId}:${ms}:0`))
        expect(await data.queue.claim(ALL)).to.equal(undefined)
      })

      it('claims no more than is asked for, unless one row alone has more', async () => {
        for (let time = 0; time < 3; time++) await send({}, {})
        expect((await mustClaim(4)).measurements.count).to.be.within(1, 4)
        expect((await mustClaim(1)).measurements.count).to.equal(2)
      })

      it('hands out again what was given back, or not settled before a start', async () => {
        await send({})
        await data.queue.settle(await mustClaim(), WRITTEN)
        await send({ measuredAtMs: NOW_MS + 1 })
        const claimed = placesOf((await mustClaim()).measurements)
        await data.queue.release()
        expect(await claimAll()).to.deep.equal(claimed)
        await reopen()
        expect(await claimAll()).to.include.members(claimed)
      })

      it('wakes who waits for rows, and who is told to stop', async () => {
        await settleAll()
        const aborting = new AbortController()
        const stopped = data.queue.waitForRows(aborting.signal)
        aborting.abort()
        await stopped
        const order: string[] = []
        const { signal } = new AbortController()
        const waiting = data.queue.waitForRows(signal).then(() => order.push('awake'))
        // Whoever does not wait is awake after that.
        expect(await data.queue.claim(ALL)).to.equal(undefined)
        order.push('sending')
        await send({})
        await within('it is awake', waiting)
        expect(order).to.deep.equal(['sending', 'awake'])
        await within('who comes later does not wait', data.queue.waitForRows(signal))
      })

      it('leaves nothing on the signal of who has waited', async () => {
        await settleAll()
        const { signal } = new AbortController()
        const waiting = data.queue.waitForRows(signal)
        await send({})
        await waiting
        expect(getEventListeners(signal, 'abort')).to.have.lengthOf(0)
      })
    })

    describe('who reads', () => {
      const unreadable = (sensors: readonly VersionedSensor[]) =>
        listAll(data.barrier.findUnreadable(sensors, RANGE))

      it('waits for the measurements of the sensor and the time, and no others', async () => {
        const receipt = await send({}, { serialNumber: 'attic', measuredAtMs: NOW_MS - 5_000 })
        const [cellar, attic] = [
          await sensor(receipt.at(0).sensorId),
          await sensor(receipt.at(1).sensorId),
        ]
        expect(await unreadable([cellar, attic])).to.deep.equal([cellar.id])
        expect(await unreadable([attic])).to.deep.equal([])
        const behind = await data.barrier.listUnreadable([cellar, attic])
        expect([...behind]).to.have.members([cellar.id, attic.id])
        expect(await data.barrier.waitUntilReadable([cellar.dataVersion], 50)).to.equal(false)
        const waiting = data.barrier.waitUntilReadable([cellar.dataVersion], 30_000)
        const batch = await mustClaim()
        await data.queue.noteReadable(batch)
        expect(await waiting).to.equal(true)
        expect(await unreadable([cellar])).to.deep.equal([])
        expect((await data.barrier.listUnreadable([cellar, attic])).size).to.equal(0)
        await data.queue.settle(batch, WRITTEN)
        expect(await data.barrier.waitUntilReadable([attic.dataVersion], 30_000)).to.equal(true)
      })

      it('is told what the store refuses, until an operator has settled it', async () => {
        const { sensorId } = (await send({}, { measuredAtMs: NOW_MS + 1 })).at(0)
        const batch = await mustClaim()
        await data.queue.settle(batch, { ...WRITTEN, setAside: [{ index: 0, reason: 'never' }] })
        const { dataVersion } = await sensor(sensorId)
        expect(await data.barrier.waitUntilReadable([dataVersion], 30_000)).to.equal(true)
        const [refused] = await data.control.listSetAside(0, ALL)
        expect(refused).to.include({ sensorId, measuredAtMs: NOW_MS, reason: 'never' })
        const refusedOf = await sensor(sensorId)
        expect(await unreadable([refusedOf])).to.deep.equal([sensorId])
        expect([...(await data.barrier.listUnreadable([refusedOf]))]).to.deep.equal([sensorId])
        expect(await data.control.hasSetAside(sensorId, RANGE)).to.equal(true)
        expect(await data.storeUpkeep.retrySetAside(undefined)).to.equal(1)
        expect(await claimAll()).to.deep.equal([`${sensorId}:0:0`])
        expect(await data.control.countSetAside()).to.equal(0)
      })

      it('keeps the place of what is tried again for it alone, also after a start', async () => {
        const { sensorId } = (await send({}, {}, {})).at(0)
        const setAside = [{ index: 1, reason: 'never' }]
        await data.queue.settle(await mustClaim(), { ...WRITTEN, setAside })
        await until('it is set aside', async () => (await data.control.countSetAside()) === 1)
        expect(await data.storeUpkeep.retrySetAside(undefined)).to.equal(1)
        expect(await claimAll()).to.deep.equal([`${sensorId}:0:1`])
        await reopen()
        await send({})
        expect((await claimAll()).at(-1)).to.equal(`${sensorId}:0:3`)
      })

      it('is told what the store refuses while it looks', async () => {
        const first = (await send({})).at(0).sensorId
        const aside = { ...WRITTEN, setAside: [{ index: 0, reason: 'never' }] }
        await data.queue.settle(await mustClaim(), aside)
        const second = (await send({ serialNumber: 'attic' })).at(0).sensorId
        const sensors = [await sensor(first), await sensor(second)]
        const found: number[] = []
        for await (const id of data.barrier.findUnreadable(sensors, RANGE)) {
          found.push(id)
          const batch = await data.queue.claim(ALL)
          if (batch !== undefined) await data.queue.settle(batch, aside)
        }
        expect(found).to.have.members([first, second])
      })

      it('knows how much waits', async () => {
        const entriesAre = (entries: number) =>
          until(`${entries} wait`, () => data.figures.backlog().entries === entries)
        await send({}, {})
        await entriesAre(2)
        expect(data.figures.unreadable).to.equal(2)
        expect(data.figures.backlogBytes).to.be.greaterThan(0)
        await settleAll()
        await entriesAre(0)
      })
    })

    it('accounts for all that is on its way, in however many rows', async () => {
      const ids = new Set<number>()
      for (let at = 0; at <= 200; at++) {
        const changes = {
          serialNumber: ['cellar', 'attic'][at % 2] ?? '',
          measuredAtMs: NOW_MS + at,
        }
        ids.add((await send(changes)).at(0).sensorId)
      }
      const accounts = await data.accounts.read([...ids])
      for (const [place, id] of [...ids].entries()) {
        const atLatest = { measuredAtMs: NOW_MS + 200 - place, rawCelsius: 11.75 }
        const perDay = new Map([[NOW_MS, 101 - place]])
        const pending = { perDay, atLatest, later: undefined }
        expect(accounts.get(id)?.pending).to.deep.equal(pending)
      }
    })

    describe('deleting a sensor', () => {
      it('is due in the store when all that it had is forwarded', async () => {
        const { sensorId } = (await send({})).at(0)
        await data.controlWriter.deleteSensor(userId, sensorId)
        const due = () => data.jobs.due(Date.now() + 1_000)
        expect(await due()).to.deep.equal([])
        await settleAll()
        const [job] = await due()
        if (job === undefined) throw new Error('it is not due')
        expect(job).to.include({ sensorId, userId, passes: 0 })
        expect(job.range.startMs).to.be.at.most(NOW_MS)
        expect(job.range.stopMs).to.be.greaterThan(NOW_MS)
      })

      it('leaves its events known, and brings nothing back', async () => {
        const event = measurement({ eventId: 'e1' })
        const { sensorId } = (await accept(data, submission(userId, event))).at(0)
        await data.controlWriter.deleteSensor(userId, sensorId)
        const item = (await accept(data, submission(userId, event))).at(0)
        expect(item).to.include({ status: 'duplicate', sensorId })
        expect(await data.control.listSensors(userId)).to.deep.equal([])
        const next = (await accept(data, submission(userId, measurement()))).at(0)
        expect(next.sensorId).not.to.equal(sensorId)
      })
    })
  })
}
