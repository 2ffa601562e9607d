// Goal: events are known for ever, wherever they are: in memory, sealed, or merged, and after a
// restart in between. Method: the real commit and seal threads with small epochs.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { openForReading } from '../../src/sqlite/database.ts'
import { GroupBuilder } from '../../src/sqlite/commit/submission-committer.ts'
import { allocateGroup } from '../../src/sqlite/commit/group-frame.ts'
import { startWorker, startWriting } from '../../src/threads/start-threads.ts'
import type { WritingThreads } from '../../src/threads/start-threads.ts'
import { damageLeaf } from '../support/damage.ts'
import { until } from '../support/until.ts'

const EPOCH_EVENTS = 2 ** 10
const GROUP = 1_000
const NOW_MS = 1_800_000_000_000

describe('the threads that write', () => {
  let dataDir = ''
  let threads: WritingThreads
  const damaged: string[] = []
  const fail = (error: Error) => {
    throw error
  }
  const open = async (epochEvents = EPOCH_EVENTS) => {
    const data = {
      dataDir,
      epochEvents,
      mayRegisterSensors: true,
      sensorsPerUserMax: 10,
      futureMsMax: 0,
      measuredAtMsMin: 0,
      replayRetention: undefined,
    }
    threads = await startWriting(startWorker, data, {
      onFailure: fail,
      onDamaged: (problem) => void damaged.push(problem),
      onLoading: () => undefined,
      onStorageFull: () => fail(new Error('the disk is full')),
    })
  }
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    await open()
  })
  afterEach(async () => {
    await threads.close()
    await rm(dataDir, { recursive: true })
  })

  /** Commits events `group * size` and on; returns how many were new, or why none was taken. */
  async function commit(group: number, size = GROUP, hasIds = true): Promise<number | string> {
    const builder = new GroupBuilder(allocateGroup())
    const measurements = Array.from({ length: size }, (_, at) => ({
      eventId: hasIds ? `event-${group * size + at}` : null,
      serialNumber: 'A1',
      tempCelsius: at % 50,
      measuredAtMs: NOW_MS - at,
    }))
    builder.add({ userId: 1, receivedAtMs: NOW_MS, measurements })
    const { rejections } = await threads.channel.commitGroup(builder.finish())
    const { status } = builder.columns
    return rejections[0]?.code ?? status.subarray(0, size).filter((each) => each === 0).length
  }

  /** Sends a group again, as senders do, until the thread that seals has caught up. */
  async function commitOnceTaken(group: number): Promise<number | string> {
    let outcome: number | string = 'overloaded'
    await until('the group is taken', async () => {
      outcome = await commit(group)
      return outcome !== 'overloaded'
    })
    return outcome
  }

  async function mergedRun(): Promise<void> {
    const ledger = openForReading(dataDir, 'ledger.db')
    const merged = ledger
      .prepare(
        `SELECT 1 FROM runs WHERE merged_no = 0
      AND NOT EXISTS (SELECT 1 FROM runs WHERE merged_into IS NOT NULL)`,
      )
      .pluck()
    await until('runs are merged', () => merged.get() !== undefined)
    ledger.close()
  }

  it('knows every event again when they are sealed and merged, and after a restart', async () => {
    const groups = 124
    for (let group = 0; group < groups; group++)
      expect(await commitOnceTaken(group)).to.equal(GROUP)
    expect(await commitOnceTaken(0)).to.equal(0)
    await mergedRun()
    await threads.close()
    await open()
    for (let group = 0; group < groups; group++) expect(await commitOnceTaken(group)).to.equal(0)
    expect(await commitOnceTaken(groups)).to.equal(GROUP)
  })

  it('stop a merge that meets a damaged page, name it, and go on without', async () => {
    const [size, runs] = [64, 64]
    await threads.close()
    await open(size)
    for (let group = 0; group < runs; group++) expect(await commit(group, size)).to.equal(size)
    await threads.close()
    damageLeaf(join(dataDir, 'ledger.db'), 'blocks', 10)
    await open(size)
    // In runs as small as these, every group has an event that may be in a damaged block.
    expect(await commit(runs, size)).to.equal('data_damaged')
    for (let group = 0; group < 8; group++) expect(await commit(group, size, false)).to.equal(size)
    await until('the damage is named', () => damaged.length > 0)
    expect(damaged.join()).to.match(/^a block from \d+ to \d+ in ledger.db is damaged$/)
    for (let group = 0; group < 8; group++) expect(await commit(group, size, false)).to.equal(size)
    for (let group = 0; group < runs; group++) {
      expect(await commit(group, size)).to.be.oneOf([0, 'data_damaged'])
    }
  })
})
