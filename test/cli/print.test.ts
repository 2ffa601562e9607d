// Tables stay readable and small, whatever a cell of them has.

import { expect } from 'chai'
import { Writable } from 'node:stream'
import { Terminal } from '../../src/cli/terminal/terminal.ts'

describe('a table', () => {
  it('makes no other row as long as the longest', () => {
    const printed: string[] = []
    const stdout = new Writable({
      write: (chunk, _encoding, done) => {
        printed.push(String(chunk))
        done()
      },
    })
    const { stdin, stderr } = process
    const rows = [
      { reason: 'r'.repeat(10_000), content: 'x' },
      { reason: 'short', content: 'y' },
    ]
    const lines = [{ rows, whenEmpty: 'empty' }]
    new Terminal({ stdin, stdout, stderr, env: {} }).show({ lines }, false)
    expect(printed.map((line) => line.length)).to.deep.equal([210, 10_004, 204])
  })
})
