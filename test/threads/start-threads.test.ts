// Goal: events are known for ever, wherever they are: in memory, sealed, or merged, and after a
// restart in between. Method: the real commit and seal threads with small epochs.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { openForReading } from '../../src/sqlite/database.ts'
import { GroupBuilder } from '../../src/sqlite/commit/group-committer.ts'
import { allocateGroup } from '../../src/sqlite/commit/group-frame.ts'
import { startWriting } from '../../src/threads/start-threads.ts'
import type { WritingThreads } from '../../src/threads/start-threads.ts'

const EPOCH_EVENTS = 2 ** 13
const GROUP = 8_000
const POLL_MS = 10
const NOW_MS = 1_800_000_000_000

describe('the threads that write', function () {
  this.timeout(60_000)
  let dataDir = ''
  let threads: WritingThreads
  const fail = (error: Error) => {
    throw error
  }
  const open = async () => {
    const data = {
      dataDir,
      epochEvents: EPOCH_EVENTS,
      mayRegisterSensors: true,
      sensorsPerUserMax: 10,
      futureMsMax: 0,
      measuredAtMsMin: 0,
      replayRetention: undefined,
    }
    threads = await startWriting(data, {
      onFailure: fail,
      onDamaged: (problem) => fail(new Error(problem)),
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

  /** Commits events `group * GROUP` and on; returns how many were new. */
  async function commit(group: number): Promise<number> {
    const builder = new GroupBuilder(allocateGroup())
    const measurements = Array.from({ length: GROUP }, (_, at) => ({
      eventId: `event-${group * GROUP + at}`,
      serialNumber: 'A1',
      tempCelsius: at % 50,
      measuredAtMs: NOW_MS - at,
    }))
    builder.add({ userId: 1, receivedAtMs: NOW_MS, measurements })
    await threads.channel.commitGroup(builder.finish())
    return builder.columns.status.subarray(0, GROUP).filter((each) => each === 0).length
  }

  async function mergedRun(): Promise<void> {
    const ledger = openForReading(join(dataDir, 'ledger.db'))
    const merged = ledger
      .prepare(
        `SELECT 1 FROM runs WHERE merged_no = 0
      AND NOT EXISTS (SELECT 1 FROM runs WHERE merged_into IS NOT NULL)`,
      )
      .pluck()
    while (merged.get() === undefined) await setTimeout(POLL_MS)
    ledger.close()
  }

  it('knows every event again when they are sealed and merged, and after a restart', async () => {
    const groups = 124
    for (let group = 0; group < groups; group++) expect(await commit(group)).to.equal(GROUP)
    expect(await commit(0)).to.equal(0)
    await mergedRun()
    await threads.close()
    await open()
    for (let group = 0; group < groups; group++) expect(await commit(group)).to.equal(0)
    expect(await commit(groups)).to.equal(GROUP)
  })
})
