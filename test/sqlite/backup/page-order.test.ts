// Goal: of two backups of one DATA_DIR, programs that store pieces of files have to store little
// more than what came in between. Method: a fleet's measurements as they come in time, packed; a
// quarter more, packed again; a piece is new wherever what was side by side is no more.

import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { packPages, unpackPages } from '../../../src/sqlite/backup/packed-pages.ts'
import { SqliteMeasurementWriter } from '../../../src/sqlite/measurements/measurement-writer.ts'
import { batchOf } from '../../support/measurements.ts'

const START_MS = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000
const SENSORS = 40
const MINUTES = 6_000
const MORE_MINUTES = 1_500
const AT_ONCE = 20
const WORD_BYTES = 4

describe('the pages of a backup', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-order-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const file = () => join(folder, 'measurements.db')

  async function write(fromMinute: number, toMinute: number): Promise<void> {
    const writer = new SqliteMeasurementWriter(file())
    for (let minute = fromMinute; minute < toMinute; minute += AT_ONCE) {
      const rows = Array.from({ length: SENSORS * AT_ONCE }, (_, at) => ({
        sensorId: 1 + (at % SENSORS),
        measuredAtMs: START_MS + (minute + Math.floor(at / SENSORS)) * MINUTE_MS,
        tempCelsius: (at % 100) / 4,
      }))
      await writer.write(batchOf(rows))
    }
    await writer.close()
  }

  it('are in the order they were in, but for what is new', async () => {
    await write(0, MINUTES)
    const before = await packedPages(file())
    await write(MINUTES, MINUTES + MORE_MINUTES)
    const after = await packedPages(file())
    const wasPair = new Set(before.map((page, at) => `${before[at - 1]} ${page}`))
    const kept = new Set(before)
    const torn = after.filter((page, at) => {
      return kept.has(page) && !wasPair.has(`${after[at - 1]} ${page}`)
    })
    // Nine of each sensor in the order of the file, three in that of the keys.
    expect(torn.length).to.be.within(1, 2 * SENSORS)
  })

  it('are where they were when they are unpacked', async () => {
    await write(0, 100)
    await unpackPages('it', packPages(file()), join(folder, 'copy'))
    expect((await readFile(join(folder, 'copy'))).equals(await readFile(file()))).to.equal(true)
  })

  it('are refused when one is there twice, or another is missing', async () => {
    await write(0, 100)
    const packed = await buffer(packPages(file()).content)
    const pageBytes = packed.readUInt32LE()
    packed.copy(packed, WORD_BYTES, WORD_BYTES + WORD_BYTES + pageBytes, WORD_BYTES * 3 + pageBytes)
    const target = join(folder, 'copy')
    const content = Readable.from([packed])
    const failure = await unpackPages('it', { bytes: packed.length, content }, target).catch(String)
    expect(failure).to.include('it is not a backup: it has not each of its pages once')
  })
})

/** Each by its hash. */
async function packedPages(path: string): Promise<string[]> {
  const packed = await buffer(packPages(path).content)
  const bytes = WORD_BYTES + packed.readUInt32LE()
  return Array.from({ length: (packed.length - WORD_BYTES) / bytes }, (_, at) => {
    const start = WORD_BYTES + at * bytes
    return createHash('sha256')
      .update(packed.subarray(start, start + bytes))
      .digest('hex')
  })
}
