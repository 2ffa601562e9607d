// A ledger on the eve of a merge. As many whole epochs as are merged would take a test half a
// minute: what is sealed in one run is dealt out to many small ones instead.

import { join } from 'node:path'
import { openForWriting } from '../../src/sqlite/database.ts'
import type { Connection } from '../../src/sqlite/database.ts'
import { BlockShuffle } from '../../src/sqlite/ledger/block-shuffle.ts'
import { BlockStore } from '../../src/sqlite/ledger/block-store.ts'
import { blocksFor, EVENT_BYTES, SEGMENTS } from '../../src/sqlite/ledger/ledger-run.ts'
import { MERGE_PLAN } from '../../src/sqlite/ledger/run-merger.ts'
import { LEDGER_MIGRATIONS } from '../../src/sqlite/ledger/schema.ts'

/** Replaces the one run of a stopped service's ledger by one run fewer than are merged. */
export function dealIntoYoungRuns(dataDir: string): void {
  const ledger = openForWriting(join(dataDir, 'ledger.db'), LEDGER_MIGRATIONS)
  ledger.transaction(() => deal(ledger))()
  ledger.close()
}

function deal(ledger: Connection): void {
  const entries = ledger.prepare<[], Buffer>('SELECT entries FROM blocks ORDER BY id').pluck()
  const events = Buffer.concat(entries.all())
  ledger.exec('DELETE FROM blocks; DELETE FROM runs')
  const insertRun = ledger.prepare(
    `INSERT INTO runs (events, blocks, segments_written) VALUES (?, ?, ${SEGMENTS})`,
  )
  const shuffle = new BlockShuffle()
  const runs = MERGE_PLAN.runs - 1
  for (let run = 0; run < runs; run++) {
    shuffle.clear()
    for (let at = run * EVENT_BYTES; at < events.length; at += runs * EVENT_BYTES) {
      shuffle.gather(events.subarray(at, at + EVENT_BYTES))
    }
    const blocks = blocksFor(shuffle.events)
    const runNo = Number(insertRun.run(shuffle.events, blocks).lastInsertRowid)
    const plan = { runNo, events: shuffle.events, blocks }
    new BlockStore(ledger).write(plan, 0, shuffle.arrange(plan, 0, SEGMENTS))
  }
}
