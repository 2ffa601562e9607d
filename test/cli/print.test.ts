// Tables stay readable and small, whatever a cell of them has.

import { expect } from 'chai'
import { printTable } from '../../src/cli/terminal/print.ts'

describe('a table', () => {
  const write = process.stdout.write.bind(process.stdout)
  afterEach(() => (process.stdout.write = write))

  it('makes no other row as long as the longest', () => {
    const printed: string[] = []
    process.stdout.write = (text: string | Uint8Array) => printed.push(String(text)) > 0
    const rows = [
      { reason: 'r'.repeat(10_000), content: 'x' },
      { reason: 'short', content: 'y' },
    ]
    printTable(rows, 'empty')
    process.stdout.write = write
    expect(printed.map((line) => line.length)).to.deep.equal([210, 10_004, 204])
  })
})
