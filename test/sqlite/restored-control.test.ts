// Goal: a restored control.db gives out no id that an instance before it can have given out: not
// the one that the copy was made of, nor one that the same copy was restored to before.

import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { NO_IDS } from '../../src/domain/ids-after-restore.ts'
import type { HighestIds } from '../../src/domain/ids-after-restore.ts'
import { prepareRestored } from '../../src/sqlite/backup/restored-control.ts'
import { CONTROL_MIGRATIONS } from '../../src/sqlite/control/schema.ts'
import { openForReading, openForWriting } from '../../src/sqlite/database.ts'

const RESTORES_MIN = 64
const FOUR_BYTES = ['users', 'sensors']

describe('a restored control.db', () => {
  let folder: string
  let copied: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-control-'))
    copied = join(folder, 'copied')
    await mkdir(copied)
    openForWriting(join(copied, 'control.db'), CONTROL_MIGRATIONS).close()
  })
  afterEach(() => rm(folder, { recursive: true }))

  const restore = (dataDir: string, idsInStore: HighestIds = NO_IDS) => {
    prepareRestored(dataDir, { nowMs: 1, restoredToMs: 0, isRevoking: false, idsInStore })
    return readLastIds(join(dataDir, 'control.db'))
  }

  it('numbers everything elsewhere than another one of the same copy', async () => {
    const lastIds = await Promise.all(
      ['one', 'other'].map(async (name) => {
        await cp(copied, join(folder, name), { recursive: true })
        return restore(join(folder, name))
      }),
    )
    const [one = {}, other = {}] = lastIds
    expect(Object.keys(one)).to.include.members(['access_tokens', 'journal', 'refused', 'users'])
    for (const [name, id] of Object.entries(one)) expect(id, name).not.to.equal(other[name])
    // Each for itself.
    expect(one['users']).not.to.equal(one['sensors'])
    for (const name of FOUR_BYTES) expect(one[name]).to.be.within(2 ** 24, 2 ** 25 - 1)
    for (const name of ['access_tokens', 'refused', 'set_aside']) {
      expect(one[name]).to.be.within(2 ** 32, 2 ** 33 - 1)
    }
    expect(one['journal']).to.be.within(2 ** 40, 2 ** 41 - 1)
  })

  it('goes past the ids that have measurements in a store of their own', () => {
    const before = restore(copied)
    const idsInStore = { userId: 600_000_000, sensorId: 500_000_000 }
    const after = restore(copied, idsInStore)
    expect(after['users']).to.be.greaterThan(600_000_000 + 2 ** 24 - 1)
    expect(after['sensors']).to.be.within(500_000_000 + 2 ** 24, 599_999_999)
    // The others do not go along.
    expect(after['journal']).to.be.lessThan((before['journal'] ?? 0) + 2 ** 41)
    // Of a store that is behind.
    const again = restore(copied, { userId: 1, sensorId: 1 })
    expect(again['users']).to.be.greaterThan((after['users'] ?? 0) + 2 ** 24 - 1)
  })

  it('can be restored often, and says when ids are used up', () => {
    for (let restores = 1; restores <= RESTORES_MIN; restores++) {
      expect(Object.values(restore(copied)).every(Number.isSafeInteger)).to.equal(true)
    }
    const usedUp = { userId: 2 ** 31 - 2 ** 24, sensorId: 0 }
    expect(() => restore(copied, usedUp)).to.throw(/the ids of users are used up/)
  })
})

/** The last ids, by table. */
function readLastIds(file: string): Readonly<Record<string, number>> {
  const db = openForReading(file)
  const rows = db
    .prepare<[], { name: string; seq: number }>('SELECT name, seq FROM sqlite_sequence')
    .all()
  db.close()
  return Object.fromEntries(rows.map(({ name, seq }) => [name, seq]))
}
