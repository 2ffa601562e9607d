// What is remembered of a body is no part of it: one that is would keep all of the body in memory.

import { expect } from 'chai'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { SkippedNotes } from '../../../src/http/influx/skipped-series.ts'
import { readLines } from '../../../src/line-protocol/read-lines.ts'
import { SeriesMemory, SeriesRoom } from '../../../src/line-protocol/series.ts'

const BODIES = 200
const BODY_BYTES = 100_000

/** Bytes of the heap that something still needs. */
function neededBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

describe('what is remembered of bodies of line protocol', () => {
  it('does not grow with the bodies', async () => {
    const rules = { fields: new Set<string>(), serialTags: [], serialNumberPrefix: '' }
    const series = new SeriesMemory(rules)
    const controlWriter = { noteSkipped: async () => undefined }
    const notes = new SkippedNotes({ controlWriter, log: { warn: () => undefined } })
    const texts: unknown[] = []
    const before = neededBytes()
    for (let at = 0; at < BODIES; at++) {
      const lines = [
        `temperature,room=attic-number-${at}-of-many value=1 1`,
        `temperature,mac=00112233445566778899${at},friendly_name=kitchen-number-${at} value=1 1`,
        `temperature,sn=0011223344556677${at},x=${'y'.repeat(600)} temperature_1_celsius=1 1`,
        `temperature,room=attic\\ ${at},name=attic-${at},x=${'y'.repeat(600)} value=1 1`,
        `temperature,room=attic\\ ${at},x=${'y'.repeat(600)} value=1 1`,
        `humidity,room=attic-number-${at}-of-many value=1`,
        `#${'x'.repeat(BODY_BYTES)}`,
      ]
      const body = Buffer.from(lines.join('\n'))
      for await (const part of await readLines(body, { series, unitNs: 1n }, async () => {})) {
        // As caches of sensors do.
        for (const { measurement } of part.keyed) {
          texts.push(measurement.serialNumber, measurement.alias, measurement.eventId)
        }
        await notes.note(1, part.skipped, 0)
      }
    }
    expect(texts).to.have.lengthOf(BODIES * 15)
    expect(neededBytes() - before).to.be.below((BODIES * BODY_BYTES) / 4)
  })

  it('has a limit for all senders together, whatever their series are', async () => {
    const tags = Array.from({ length: 80 }, (_, at) => `,${at + 10}=b`).join('')
    const fields = Array.from({ length: 32 }, (_, at) => `temp_${at}=1`).join(',')
    const room = new SeriesRoom()
    const memories: SeriesMemory[] = []
    const before = neededBytes()
    for (const serialNumberPrefix of ['a', 'b', 'c']) {
      const series = new SeriesMemory(
        { fields: new Set(), serialTags: [], serialNumberPrefix },
        room,
      )
      memories.push(series)
      const lines = Array.from({ length: 1_000 }, (_, at) => `${at}${tags} ${fields} 1`)
      const body = Buffer.from(lines.join('\n'))
      for await (const part of await readLines(body, { series, unitNs: 1n }, async () => {})) {
        expect(part.refused).to.deep.equal([])
      }
    }
    expect(memories).to.have.lengthOf(3)
    expect(neededBytes() - before).to.be.below(32 * 2 ** 20)
  })
})
