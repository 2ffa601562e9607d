// Goal: whatever the store does, rows are settled in order, each once, and only when they are in
// it. Method: a journal of numbered rows and a store that fails as it is told.

import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/domain/errors.ts'
import { StoreLives } from '../../src/sqlite/journal/journal-queue.ts'
import { Forwarder } from '../../src/ingest/forwarder.ts'
import type { JournalBatch, JournalQueue } from '../../src/ports/journal-queue.ts'
import type { ToSetAside } from '../../src/ports/measurement-store.ts'
import { RecordingLog } from '../support/log.ts'
import { batchOf } from '../support/measurements.ts'

const GATHERING_MS = 250
/** By the clock of a test, which goes on whenever it is looked at. */
const WRITE_MS = 60_000
const GIVING_WAY_MS = 0.3 * WRITE_MS

interface Story {
  /** Rows of the journal, seq 1 … rows. */
  readonly rows: number
  /** What the n-th write of the store does; the last one goes on. */
  readonly writes: readonly ('takes' | 'fails' | 'unknown' | 'rejects')[]
  readonly lives?: readonly (string | undefined)[]
  readonly forwardedSeq?: number
  /** Rows that come for one that is forwarded; none when left out. */
  readonly comingPerRow?: number
  /** Of rows that wait. */
  readonly ageMs?: number
  /** A row of which the first write does not end before this does. */
  readonly held?: { readonly row: number; readonly until: Promise<void> }
  /** A sync does not end before this does. */
  readonly syncing?: Promise<void>
  /** Of a batch, one when left out. */
  readonly measurementsMax?: number
  /** One when left out. */
  readonly measurementsPerRow?: number
}

class Bench {
  readonly settled: number[] = []
  readonly readable: number[] = []
  /** What was written when each sync began. */
  readonly synced: number[][] = []
  readonly begun: number[] = []
  readonly written: number[] = []
  readonly setAside: ToSetAside[] = []
  readonly pausesMs: number[] = []
  readonly states: boolean[] = []
  /** How often it waited to be told of new rows. */
  idle = 0
  readonly log = new RecordingLog()
  readonly forwarder: Forwarder
  #writes = 0
  #lifeChecks = 0
  #nowMs = 0

  constructor(story: Story) {
    const { lives } = story
    this.forwarder = new Forwarder(
      {
        queue: this.#queueOf(story),
        writer: {
          write: async ({ measurements }) => this.#write(story, measurements.sensorId[0] ?? 0),
          sync: () => this.#sync(story),
          deleteSensor: async () => undefined,
          life: async () => lives?.[Math.min(this.#lifeChecks++, lives.length - 1)],
          close: async () => undefined,
        },
        noteState: (isWorking) => this.states.push(isWorking),
        pause: (durationMs, signal) => this.#pause(durationMs, signal),
        random: () => 0,
        clock: { nowMs: () => this.#nowMs, monotonicMs: () => (this.#nowMs += WRITE_MS) },
        log: this.log,
      },
      {
        batchMeasurementsMax: story.measurementsMax ?? 1,
        isStoreApart: lives !== undefined,
      },
    )
  }

  #queueOf(story: Story): JournalQueue {
    const { rows, forwardedSeq = 0 } = story
    const lives = new StoreLives()
    let claimed = forwardedSeq
    const batchAfter = (row: number): JournalBatch => {
      return { place: { stream: 0, seq: row + 1 }, ...batchOf(readings(row + 1, story)) }
    }
    return {
      claim: async () => {
        if (claimed === rows) return undefined
        return { ...batchAfter(claimed++), isOutrun: (story.comingPerRow ?? 0) > 1 }
      },
      noteReadable: async ({ place }) => void this.readable.push(place.seq),
      settle: async ({ place }, { setAside }) => {
        this.settled.push(place.seq)
        this.setAside.push(...setAside)
      },
      release: async () => {
        claimed = this.settled.at(-1) ?? forwardedSeq
      },
      replay: async (life) => {
        if (!lives.isAnother(life)) return undefined
        const last = claimed
        let passed = 0
        const read = async () => (passed < last ? batchAfter(passed) : undefined)
        return last === 0
          ? undefined
          : { read, pass: async ({ place }) => void (passed = place.seq) }
      },
      oldestAtMs: async () => this.#nowMs - (story.ageMs ?? 0),
      waitForRows: async (signal) => {
        this.idle++
        if (!signal.aborted) await once(signal, 'abort')
      },
    }
  }

  async runUntil(isDone: () => boolean): Promise<void> {
    this.forwarder.start()
    for (let turn = 0; turn < 1_000 && !isDone(); turn++) {
      await setImmediate()
    }
    await this.forwarder.stop()
    expect(isDone(), 'the end of the story').to.equal(true)
  }

  async #write({ writes, held }: Story, row: number): Promise<readonly ToSetAside[]> {
    const isFirst = !this.begun.includes(row)
    this.begun.push(row)
    if (row === held?.row && isFirst) await held.until
    const outcome = writes[Math.min(this.#writes++, writes.length - 1)]
    if (outcome === 'fails') throw new StoreUnavailable('down')
    if (outcome === 'unknown') throw new StoreUnavailable('lost', { isOutcomeUnknown: true })
    this.written.push(row)
    return outcome === 'rejects' ? [{ index: 0, reason: 'never' }] : []
  }

  async #sync({ syncing }: Story): Promise<void> {
    this.synced.push([...this.written])
    await syncing
  }

  // Gathering is over when somebody is in a hurry, every other pause at the next turn.
  async #pause(durationMs: number, signal: AbortSignal): Promise<void> {
    this.pausesMs.push(durationMs)
    if (durationMs === GATHERING_MS && !signal.aborted) await once(signal, 'abort')
    else await setImmediate()
  }
}

function readings(seq: number, { measurementsPerRow = 1 }: Story) {
  const reading = { sensorId: seq, measuredAtMs: seq, tempCelsius: 1 }
  return Array.from({ length: measurementsPerRow }, () => reading)
}

describe('Forwarder', () => {
  it('writes row after row and settles each when it is in the store', async () => {
    const bench = new Bench({ rows: 3, writes: ['takes'] })
    await bench.runUntil(() => bench.settled.length === 3)
    expect(bench.written).to.deep.equal([1, 2, 3])
    expect(bench.settled).to.deep.equal([1, 2, 3])
  })

  it('lets rows be read before they are synced, and settles what a sync has covered', async () => {
    const { promise: syncing, resolve: release } = Promise.withResolvers<void>()
    const bench = new Bench({ rows: 3, writes: ['takes'], syncing })
    bench.forwarder.start()
    while (bench.readable.length < 3) await setImmediate()
    expect(bench.readable).to.deep.equal([1, 2, 3])
    expect(bench.settled).to.deep.equal([])
    release()
    await bench.runUntil(() => bench.settled.length === 3)
    expect(bench.settled).to.deep.equal([1, 2, 3])
    expect(bench.synced).to.deep.equal([[1], [1, 2, 3]])
  })

  it('writes no more than half a million measurements ahead of a sync', async () => {
    const { promise: syncing, resolve: release } = Promise.withResolvers<void>()
    const bench = new Bench({ rows: 5, writes: ['takes'], syncing, measurementsPerRow: 200_000 })
    const end = bench.runUntil(() => bench.settled.length === 5)
    while (bench.written.length < 3) await setImmediate()
    for (let turn = 0; turn < 20; turn++) await setImmediate()
    expect(bench.written).to.deep.equal([1, 2, 3])
    release()
    await end
    expect(bench.settled).to.deep.equal([1, 2, 3, 4, 5])
  })

  it('shows nothing of a batch that the store refuses in part before it is settled', async () => {
    const bench = new Bench({ rows: 2, writes: ['rejects', 'takes'] })
    await bench.runUntil(() => bench.settled.length === 2)
    expect(bench.readable).to.deep.equal([2])
  })

  it('gathers what trickles in until somebody waits for it', async () => {
    const bench = new Bench({ rows: 2, writes: ['takes'], measurementsMax: 100 })
    bench.forwarder.start()
    while (bench.pausesMs.length === 0) await setImmediate()
    expect(bench.settled).to.deep.equal([1])
    bench.forwarder.hurry()
    await bench.runUntil(() => bench.settled.length === 2)
    expect(bench.pausesMs).to.deep.equal([GATHERING_MS, GATHERING_MS])
  })

  describe('where the store is apart and more comes than is forwarded', () => {
    const outrun = { rows: 3, writes: ['takes'], lives: ['a'], comingPerRow: 2 } as const

    it('leaves time between writes for those who submit', async () => {
      const bench = new Bench(outrun)
      await bench.runUntil(() => bench.settled.length === 3)
      expect(bench.pausesMs.slice(0, 3)).to.deep.equal(Array(3).fill(GIVING_WAY_MS))
    })

    it('does not when what waits is a minute old', async () => {
      const bench = new Bench({ ...outrun, ageMs: 60_000 })
      await bench.runUntil(() => bench.settled.length === 3)
      expect(bench.pausesMs).not.to.include(GIVING_WAY_MS)
    })

    it('does not when no more comes than is forwarded', async () => {
      const bench = new Bench({ ...outrun, comingPerRow: 1 })
      await bench.runUntil(() => bench.settled.length === 3)
      expect(bench.pausesMs).not.to.include(GIVING_WAY_MS)
    })
  })

  describe('where the store is apart and takes its time', () => {
    it('begins the next row while one is under way, and settles them in their order', async () => {
      const { promise: until, resolve: release } = Promise.withResolvers<void>()
      const held = { row: 1, until }
      const bench = new Bench({ rows: 4, writes: ['takes'], lives: ['a'], held })
      bench.forwarder.start()
      while (bench.written.length === 0) await setImmediate()
      expect(bench.begun).to.deep.equal([1, 2])
      expect(bench.settled).to.deep.equal([])
      release()
      await bench.runUntil(() => bench.settled.length === 4)
      expect(bench.settled).to.deep.equal([1, 2, 3, 4])
    })

    it('writes again what was begun in a life that has ended', async () => {
      const { promise: until, resolve: release } = Promise.withResolvers<void>()
      const held = { row: 1, until }
      const bench = new Bench({ rows: 2, writes: ['takes'], lives: ['a', 'b'], held })
      bench.forwarder.start()
      while (bench.written.length === 0) await setImmediate()
      release()
      await bench.runUntil(() => bench.log.text.includes('"replayed'))
      expect(bench.written).to.deep.equal([2, 1, 1, 2])
    })
  })

  it('waits for rows when it has nothing to do', async () => {
    const bench = new Bench({ rows: 1, writes: ['takes'] })
    await bench.runUntil(() => bench.idle > 0)
    expect(bench.settled).to.deep.equal([1])
  })

  it('writes the same batch again until the store takes it, waiting longer each time', async () => {
    const bench = new Bench({ rows: 1, writes: ['fails', 'unknown', 'fails', 'takes'] })
    await bench.runUntil(() => bench.settled.length === 1)
    expect(bench.written).to.deep.equal([1])
    expect(bench.pausesMs.slice(0, 3)).to.deep.equal([50, 100, 200])
    expect(bench.states).to.deep.equal([false, false, false, true])
    expect(bench.forwarder.lastUnknownOutcomeAtMs).to.be.greaterThan(0)
  })

  it('hands on what the store refuses and goes on with the rest', async () => {
    const bench = new Bench({ rows: 2, writes: ['rejects', 'takes'] })
    await bench.runUntil(() => bench.settled.length === 2)
    expect(bench.setAside).to.deep.equal([{ index: 0, reason: 'never' }])
  })

  it('writes what it had forwarded again at its start, where the store is apart', async () => {
    const bench = new Bench({ rows: 3, writes: ['takes'], lives: ['a'], forwardedSeq: 2 })
    await bench.runUntil(() => bench.written.length === 3)
    expect(bench.settled).to.deep.equal([3])
    expect(new Set(bench.written)).to.deep.equal(new Set([1, 2, 3]))
  })

  it('writes it again when the store has started anew', async () => {
    const bench = new Bench({ rows: 3, writes: ['takes'], lives: ['a', 'a', 'a', 'a', 'b'] })
    await bench.runUntil(() => bench.written.length >= 6)
    expect(bench.settled).to.deep.equal([1, 2, 3])
    expect(new Set(bench.written)).to.deep.equal(new Set([1, 2, 3]))
  })

  it('writes it again once for a moment out of sight, and once more for another life', async () => {
    const same = new Bench({ rows: 3, writes: ['takes'], lives: ['a', 'a', 'a', undefined, 'a'] })
    await same.runUntil(() => same.log.text.includes('"replayed'))
    expect(same.written.slice(3)).to.deep.equal([1, 2, 3])
    const lives = ['a', 'a', 'a', undefined, undefined, 'b']
    const other = new Bench({ rows: 3, writes: ['takes'], lives })
    await other.runUntil(() => other.log.text.includes('"replayed'))
    // Row 1 and 2 may have gone into the end of the first life.
    expect(other.written.slice(3)).to.deep.equal([1, 2, 1, 2, 3])
  })

  it('leaves what the store does not take in the journal when it is stopped', async () => {
    const bench = new Bench({ rows: 1, writes: ['fails'] })
    await bench.runUntil(() => bench.pausesMs.length > 3)
    expect(bench.settled).to.deep.equal([])
  })
})
