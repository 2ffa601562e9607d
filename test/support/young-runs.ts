// A ledger on the eve of a merge. As many whole epochs as are merged would take a test half a
// minute: what is sealed in one run is dealt out to many small ones instead.

import { join } from 'node:path'
import { openForWriting } from '../../src/sqlite/database.ts'
import type { Connection } from '../../src/sqlite/database.ts'
import { BlockShuffle } from '../../src/sqlite/ledger/block-shuffle.ts'
import { OwnFilterWriter } from '../../src/sqlite/ledger/own-filter-writer.ts'
import { EVENT_BYTES } from '../../src/sqlite/ledger/run-block.ts'
import { MERGE_PLAN } from '../../src/sqlite/ledger/run-merger.ts'
import { planRun, RunWriter } from '../../src/sqlite/ledger/run-writer.ts'
import { LEDGER_MIGRATIONS } from '../../src/sqlite/ledger/schema.ts'

/** Replaces the one run of a stopped service's ledger by one run fewer than are merged. */
export function dealIntoYoungRuns(dataDir: string): void {
  const ledger = openForWriting(join(dataDir, 'ledger.db'), LEDGER_MIGRATIONS)
  ledger.transaction(() => deal(ledger))()
  ledger.close()
}

function deal(ledger: Connection): void {
  const blocks = ledger.prepare<[], Buffer>('SELECT entries FROM blocks ORDER BY id').pluck().all()
  const events = Buffer.concat(blocks)
  ledger.exec('DELETE FROM blocks; DELETE FROM runs')
  const runs = MERGE_PLAN.youngRuns - 1
  const count = events.length / EVENT_BYTES
  for (let run = 0; run < runs; run++) {
    const mine: Buffer[] = []
    for (let event = run; event < count; event += runs) {
      mine.push(events.subarray(event * EVENT_BYTES, (event + 1) * EVENT_BYTES))
    }
    const plan = planRun(ledger, 0, mine.length)
    const writer = new RunWriter(ledger, new OwnFilterWriter(ledger, plan))
    const shuffle = new BlockShuffle()
    for (const event of mine) shuffle.gather(event)
    shuffle.write(writer, 0, writer.run.blocks)
    writer.putIntoUse()
  }
}
