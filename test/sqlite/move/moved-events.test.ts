// Goal: a move reads every event of a ledger once, with the bits that a database knows it by, while
// a merge is half way.

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { eventKeyOf } from '../../../src/postgres/stream/group.ts'
import { MovedEvents } from '../../../src/sqlite/move/moved-events.ts'
import { MovedSensors } from '../../../src/sqlite/move/moved-sensors.ts'
import { sealJournal } from '../../../src/sqlite/move/seal-journal.ts'
import { CommitterBench } from '../../support/committer.ts'

const NOW_MS = 1_800_000_000_000
const EPOCH_EVENTS = 256
/** The last merge is not finished, and the newest events are in the journal alone. */
const EPOCHS = 11
const USERS = [1, 2]

describe('the events of a data directory', () => {
  const bench = new CommitterBench({}, EPOCH_EVENTS)
  const sent: string[] = []
  before(() => {
    for (let epoch = 0; epoch < EPOCHS; epoch++) {
      const submissions = USERS.map((userId) => ({
        userId,
        receivedAtMs: NOW_MS,
        measurements: Array.from({ length: 100 }, (_, at) => {
          // The second user's ids are those of the first, which makes other events of them.
          const eventId = at % 2 === 0 ? randomUUID() : `e/${epoch}/${at}`
          const bits = Buffer.from(eventKeyOf(eventId, userId).slice(0, 16), 'latin1')
          sent.push(`${userId} ${bits.toString('hex')}`)
          return { eventId, serialNumber: 's', tempCelsius: at, measuredAtMs: NOW_MS - at }
        }),
      }))
      bench.commit(submissions)
      bench.seal(1)
    }
    bench.crash(() => sealJournal(bench.dir))
  })
  after(() => bench.close())

  it('are read once, with the bits of their ids and their users', () => {
    const half = bench.ledgerFile
      .prepare('SELECT 1 FROM runs WHERE segments_written BETWEEN 1 AND 255')
      .get()
    expect(half, 'a merge is half way').not.to.equal(undefined)
    const files = { control: bench.control, ledger: bench.ledgerFile }
    const events = new MovedEvents(files, new MovedSensors(files))
    const places = ['key', 'user_id'].map((name) => events.columns.indexOf(name))
    const read = [...events.pages()].flat().map((row) => {
      const [key, userId] = places.map((place) => row[place])
      return `${String(userId)} ${(key as Buffer).toString('hex')}`
    })
    expect(events.total()).to.equal(sent.length)
    expect(read.sort()).to.deep.equal(sent.toSorted())
  })
})
