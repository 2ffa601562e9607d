import { expect } from 'chai'
import { createLog } from '../../src/system/log.ts'
import { FakeClock } from '../support/clock.ts'

describe('createLog', () => {
  it('writes one JSON line an event, none below its level', () => {
    const lines: string[] = []
    const settings = { level: 'warn', component: 'forwarder', form: 'json' } as const
    const log = createLog(new FakeClock(), settings, (line) => lines.push(line))
    log.info('nothing of note')
    log.warn('store is behind', { backlog_entries: 7, hint: undefined })
    log.error('line\nbreak')
    expect(lines[0]).to.equal(
      '{"time":"2026-11-20T10:15:02.113Z","level":"warn","component":"forwarder",' +
        '"message":"store is behind","backlog_entries":7}\n',
    )
    expect(lines).to.have.lengthOf(2)
    expect(lines[1]?.match(/\n/g)).to.have.lengthOf(1)
  })

  it('shows what callers send without doing what a terminal obeys', () => {
    const lines: string[] = []
    const settings = { level: 'info', component: 'http', form: 'json' } as const
    const log = createLog(new FakeClock(), settings, (line) => lines.push(line))
    const path = '/\u009b2J\u001b]0;x\u0007\u202e'
    log.info('request', { path })
    expect(lines[0]).not.to.match(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u)
    expect(JSON.parse(lines[0] ?? '').path).to.equal(path)
  })

  it('writes a line of text at a terminal', () => {
    const lines: string[] = []
    const settings = { level: 'warn', component: 'forwarder', form: 'terminal' } as const
    const log = createLog(new FakeClock(), settings, (line) => lines.push(line))
    log.info('nothing of note')
    log.warn('store is behind', { backlog_entries: 7, hint: undefined })
    log.error('two\nlines \u001b[2J', { error: 'no space' })
    expect(lines).to.deep.equal([
      '2026-11-20T10:15:02Z warn: store is behind, backlog_entries: 7\n',
      '2026-11-20T10:15:02Z error: two\\u000alines \\u001b[2J, error: no space\n',
    ])
  })

  it('begins each line for journald with its priority', () => {
    const lines: string[] = []
    const settings = { level: 'debug', component: 'forwarder', form: 'journal' } as const
    const log = createLog(new FakeClock(), settings, (line) => lines.push(line))
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]('said')
    expect(lines.map((line) => line.slice(0, 4))).to.deep.equal(['<7>{', '<6>{', '<4>{', '<3>{'])
  })
})
