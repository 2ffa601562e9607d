// What every engine says of ids that clients and operators make up. Goal: however large one is,
// there is nothing with it, which is never a failure. Method: each port that takes an id.

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { NOW_MS, openForEach } from './open-data.ts'
import type { NewData, OpenData } from './open-data.ts'

/** Of more than 31, 32 and 52 bits. */
const IDS = [2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER]
const RANGE = { startMs: 0, stopMs: NOW_MS }

/** Declares the suite for one engine. */
export function describeUnknownIds(engine: string, newData: NewData): void {
  describe(`${engine}, asked for ids that are larger than any`, () => {
    let data: OpenData
    let userId: number
    openForEach(newData, (opened, id) => {
      data = opened
      userId = id
    })

    for (const id of IDS) {
      it(`finds nothing with the id ${id}`, async () => {
        const { control } = data
        expect(await control.findSensor(userId, id)).to.equal(undefined)
        expect(await control.findSensorOfAnyone(id)).to.equal(undefined)
        expect(await control.countMeasurements([id])).to.equal(0)
        expect(await control.listAcceptedDays(id, RANGE)).to.deep.equal([])
        expect(await control.hasSetAside(id, RANGE)).to.equal(false)
        expect(await control.listSetAside(id, 1)).to.deep.equal([])
        expect(await control.hasStoredLines(id)).to.equal(false)
        const listing = { isOldestFirst: true, afterId: id, limit: 1 }
        expect(await control.listRefused(listing)).to.deep.equal([])
      })

      it(`changes nothing with the id ${id}`, async () => {
        const { controlWriter, storeUpkeep } = data
        expect(await controlWriter.changeSensor(userId, id, { alias: 'x' })).to.equal(undefined)
        expect(await controlWriter.deleteSensor(userId, id)).to.equal(false)
        expect(await controlWriter.revokeToken(id)).to.equal(false)
        const rotation = { hash: randomBytes(32), nowMs: NOW_MS, overlapMs: 1 }
        expect(await controlWriter.rotateToken(id, rotation)).to.equal(undefined)
        expect(await controlWriter.dropRefused([id])).to.equal(0)
        expect(await storeUpkeep.retrySetAside([id])).to.equal(0)
        expect(await storeUpkeep.dropSetAside([id])).to.equal(0)
      })
    }
  })
}
