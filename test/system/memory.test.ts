import { expect } from 'chai'
import { logMemory } from '../../src/system/memory.ts'
import { RecordingLog } from '../support/log.ts'

describe('logMemory', () => {
  const said = (events: number, limitBytes: number | undefined) => {
    const log = new RecordingLog()
    logMemory(log, events, limitBytes)
    return log.events.map(({ level, fields }) => [level, fields['ledger_bytes']])
  }

  it('says what the ledger needs of a limit, and warns when the rest is too little', () => {
    expect(said(100_000_000, 2 ** 30)).to.deep.equal([['info', 220_000_000]])
    expect(said(300_000_000, 2 ** 30)).to.deep.equal([['warn', 660_000_000]])
    expect(said(300_000_000, undefined)).to.deep.equal([])
  })
})
