// Goal: the last point without a temperature is noted like every other, whatever comes after it.
// Method: the notes themselves, on a writer that may fail.

import { expect } from 'chai'
import { SkippedNotes } from '../../../src/http/influx/skipped-series.ts'
import { readLines } from '../../../src/line-protocol/read-lines.ts'
import type { SkippedPoint } from '../../../src/line-protocol/read-lines.ts'
import { SeriesMemory } from '../../../src/line-protocol/series.ts'
import type { SkippedSeries } from '../../../src/ports/refused.ts'
import { RecordingLog } from '../../support/log.ts'
import { until } from '../../support/until.ts'

const USER = 1

describe('series without a temperature', () => {
  let log: RecordingLog
  let noted: SkippedSeries[]
  let failure: Error | undefined
  let notes: SkippedNotes

  beforeEach(() => {
    log = new RecordingLog()
    noted = []
    failure = undefined
    const noteSkipped = async (skipped: readonly SkippedSeries[]) => {
      if (failure !== undefined) throw failure
      noted.push(...skipped)
    }
    notes = new SkippedNotes({ controlWriter: { noteSkipped }, log })
  })
  afterEach(() => notes.stop())

  const note = async (...lines: readonly string[]) =>
    notes.note(USER, await skippedOf(lines.join('\n')), 0)
  const counts = () => noted.map(({ line, count }) => `${line}: ${count}`)

  it('are noted within a second, together, without another one', async () => {
    await note('a value=1', 'b value=1')
    await note('a value=2')
    expect(noted).to.deep.equal([])
    await until('they are noted', () => noted.length > 0)
    expect(counts()).to.deep.equal(['a value=2: 2', 'b value=1: 1'])
  })

  it('are noted when the service stops', async () => {
    await note('a value=1')
    await notes.stop()
    expect(counts()).to.deep.equal(['a value=1: 1'])
  })

  it('are noted later when they cannot be, as many as there is room for', async () => {
    failure = new Error('no disk')
    await note(...Array.from({ length: 4_000 }, (_, at) => `a${at} value=1`))
    await notes.stop()
    await note('a0 value=2', ...Array.from({ length: 200 }, (_, at) => `b${at} value=1`))
    await notes.stop()
    expect(log.events.map(({ message }) => message)).to.deep.equal(['cannot note what was skipped'])
    failure = undefined
    await notes.stop()
    expect(noted).to.have.lengthOf(4_096)
    expect(counts()[0]).to.equal('a0 value=2: 2')
    await note('c value=1')
    await notes.stop()
    expect(counts().at(-1)).to.equal('c value=1: 1')
  })
})

async function skippedOf(body: string): Promise<SkippedPoint[]> {
  const rules = { fields: new Set<string>(), serialTags: [], serialNumberPrefix: '' }
  const series = new SeriesMemory(rules)
  const skipped: SkippedPoint[] = []
  const parts = await readLines(Buffer.from(body), { series, unitNs: 1n }, async () => {})
  for await (const part of parts) skipped.push(...part.skipped)
  return skipped
}
