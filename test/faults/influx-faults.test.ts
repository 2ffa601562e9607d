// Goal and method as in influx-in-trouble.test.ts, with a longer load, a pause that outlasts
// every time-out, random faults, kills of both sides, and the deletion of a million points.

import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import type { Fault } from '../support/fault-proxy.ts'
import { useInfluxServer } from '../support/influx.ts'
import { Fleet, InfluxStory, readingsOf, STORY_RANGE } from '../support/influx-story.ts'
import { byLength } from '../support/length.ts'
import { until } from '../support/until.ts'

const MINUTE_MS = 60_000
const MEMORY_BYTES_MAX = 400e6
const MANY = byLength(20_000, 1_000_000)
const KILLS = byLength(1, 5)
const FAULTY_MS = byLength(4_000, MINUTE_MS)
const BATCH = byLength(20, 100)
const ROUNDS_AFTER_DELETION = byLength(2, 5)
/** The service looks every 10 s whether InfluxDB has started anew. */
const AFTER_RESTART_MS = 12_000

/** Of ten requests five pass. */
const FAULTS: readonly Fault[] = [
  { kind: 'cut' },
  { kind: 'lose_reply' },
  { kind: 'arrive_late', afterMs: 3_000 },
  { kind: 'delay', byMs: 1_000 },
  { kind: 'answer', status: 401, body: '{"code":"unauthorized","message":"unauthorized"}' },
  { kind: 'answer', status: 429, headers: { 'retry-after': '2' } },
  { kind: 'answer', status: 500, body: '{"code":"internal error","message":"no space left"}' },
  { kind: 'answer', status: 503, headers: { 'retry-after': '1' } },
  ...Array.from({ length: 8 }, () => ({ kind: 'pass' }) as const),
]

const say = (text: string) => process.stderr.write(`      ${text}\n`)

describe('the service, when InfluxDB is in trouble for long', () => {
  const server = useInfluxServer([
    '--storage-cache-snapshot-memory-size=268435456',
    '--storage-cache-snapshot-write-cold-duration=1s',
  ])
  let story: InfluxStory
  beforeEach(async () => {
    story = await InfluxStory.begin(server())
  })
  afterEach(() => story.end())

  it('acknowledges all the time and has everything once in the end', async () => {
    const fleet = new Fleet(story, { senders: 8, batch: BATCH, pauseMs: 200 })
    await setTimeout(2_000)
    server().pause()
    await setTimeout(1_000)
    const id = await story.sensorId('sender-0')
    const asked = story.history(id)
    const isFailing = async () => (await story.storeState()).store === 'failing'
    await until('the service says that its store fails', isFailing, MINUTE_MS)
    const unavailable = await asked
    expect(unavailable.body.code).to.equal('history_unavailable')
    server().resume()
    await story.drained()
    say(`paused for more than 30 s; the longest answer took ${Math.round(fleet.answerMsMax)} ms`)

    for (let kill = 1; kill <= KILLS; kill++) {
      await setTimeout(2_000)
      await server().kill()
      await setTimeout(Math.random() * 3_000)
      await server().restart()
    }
    await story.drained()
    say(`killed and restarted ${KILLS} times`)

    story.proxy.decide = ({ path, body }) => {
      const isWrite = path.startsWith('/api/v2/write') && body.length > 0
      const fault = FAULTS[Math.floor(Math.random() * FAULTS.length)]
      return isWrite && fault !== undefined ? fault : { kind: 'pass' }
    }
    await setTimeout(FAULTY_MS)
    const acknowledged = await fleet.stop()
    story.proxy.resume()
    await story.drained()
    await story.proxy.settleLate()
    const peakBytes = story.peakMemoryBytes()
    say(`${acknowledged} acknowledged, ${Math.round(peakBytes / 1e6)} MB at most`)
    expect(peakBytes).to.be.below(MEMORY_BYTES_MAX)
    expect(fleet.answerMsMax).to.be.below(10_000)
    for (const [sn, sent] of fleet.sent) await story.expectWhole(sn, sent)
    await story.expectClean()
  })

  it('drains what was acknowledged before it was killed, while InfluxDB was away', async () => {
    await server().kill()
    const sent = readingsOf('CELLAR', 0, 20_000)
    for (let start = 0; start < sent.length; start += 500) {
      expect(await story.post(sent.slice(start, start + 500))).to.equal(201)
    }
    await story.restartService('SIGKILL')
    expect((await story.storeState()).entries).to.equal(sent.length)
    await server().restart()
    await story.drained()
    await story.expectWhole('CELLAR', sent)
  })

  it(`deletes ${MANY} points while InfluxDB is down, and busy with its cache`, async () => {
    const sent = readingsOf('GONE', 0, MANY)
    for (let start = 0; start < sent.length; start += 8 * 500) {
      const batches = Array.from({ length: 8 }, (_, at) => start + at * 500)
      const posts = batches.map((from) => story.post(sent.slice(from, from + 500)))
      expect(new Set(await Promise.all(posts))).to.deep.equal(new Set([201]))
    }
    await story.post(readingsOf('KEPT', 0, 100))
    await story.drained()
    const [kept, gone] = [await story.sensorId('KEPT'), await story.sensorId('GONE')]
    expect(await story.countInInflux(gone)).to.equal(MANY)
    await story.deletePastService(STORY_RANGE, `sensor_id="${kept}"`)
    // They are in a cache that is written to disk again when it has come back.
    await server().kill()
    await story.deleteSensor(gone)
    expect(await story.post(readingsOf('GONE', 0, 500).map(renamed))).to.equal(201)
    await server().restart()

    const isBack = async () => (await story.countInInflux(kept)) === 100
    await until('the journal is written again', isBack, 2 * MINUTE_MS)
    const isGone = async () => (await story.countInInflux(gone)) === 0
    await until('the deleted sensor is gone', isGone, 2 * MINUTE_MS)
    for (let round = 1; round <= ROUNDS_AFTER_DELETION; round++) {
      expect(await story.post(readingsOf('GONE', round * 500, 500).map(renamed))).to.equal(201)
      await story.drained()
      await setTimeout(2_000)
      expect(await story.countInInflux(gone)).to.equal(0)
    }
    await server().restart()
    await setTimeout(AFTER_RESTART_MS)
    expect(await story.countInInflux(gone)).to.equal(0)
    await story.expectWhole('GONE', readingsOf('GONE', 0, (1 + ROUNDS_AFTER_DELETION) * 500))
  })
})

/** Another event of the same sensor: the first one stays known for ever. */
function renamed<Event extends { readonly event_id: string }>(event: Event): Event {
  return { ...event, event_id: `again/${event.event_id}` }
}
