import { expect } from 'chai'
import * as fc from 'fast-check'
import { FluxFailure, parseRows } from '../../src/influx/flux-rows.ts'
import type { FluxRows } from '../../src/influx/flux-rows.ts'

const ANSWER = [
  ',result,table,_time,_value',
  ',count,0,2026-03-10T00:00:00Z,2',
  ',count,0,2026-03-10T01:00:00.000000005Z,60',
  '',
  ',result,table,_time,_value',
  ',sum,0,2026-03-10T00:00:00.5Z,-1.5e-07',
  ',sum,1,1969-12-31T23:59:59.999999999Z,20.25',
  '',
  '',
].join('\r\n')

const ROWS = [
  ['count', Date.UTC(2026, 2, 10), 2],
  ['count', Date.UTC(2026, 2, 10, 1), 60],
  ['sum', Date.UTC(2026, 2, 10) + 500, -1.5e-7],
  ['sum', -1, 20.25],
]

async function* piecesOf(text: string, cuts: readonly number[]): AsyncGenerator<Buffer> {
  const edges = [0, ...cuts.toSorted((a, b) => a - b), text.length]
  for (const [at, edge] of edges.slice(1).entries()) yield Buffer.from(text.slice(edges[at], edge))
}

async function rowsOf(text: string, cuts: readonly number[] = []): Promise<unknown[]> {
  const rows: unknown[] = []
  for await (const piece of parseRows(piecesOf(text, cuts))) rows.push(...piece.flatMap(flat))
  return rows
}

const flat = ({ result, timesMs, values }: FluxRows) =>
  timesMs.map((timeMs, at) => [result, timeMs, values[at]])

describe('parseRows', () => {
  it('reads the same rows however the answer is cut', async () => {
    const cuts = fc.array(fc.integer({ min: 0, max: ANSWER.length }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(cuts, async (places) => {
        expect(await rowsOf(ANSWER, places)).to.deep.equal(ROWS)
      }),
    )
  })

  it('lets others work while a long answer is read that is all there', async () => {
    const line = ',raw,0,2026-03-10T00:00:00Z,2\r\n'
    async function* chunks() {
      for (let at = 0; at < 100; at++) yield Buffer.from(line.repeat(1_000))
    }
    let rounds = 0
    const counting = setInterval(() => rounds++, 0)
    let rows = 0
    for await (const piece of parseRows(chunks())) rows += piece.flatMap(flat).length
    clearInterval(counting)
    expect(rows).to.equal(100_000)
    expect(rounds).to.be.greaterThan(10)
  })

  it('reads no rows out of an empty answer', async () => {
    expect(await rowsOf('')).to.deep.equal([])
    expect(await rowsOf('\r\n')).to.deep.equal([])
  })

  for (const header of ['error,reference', ',error,reference']) {
    it(`takes a table of ${header} after rows as a failure`, async () => {
      const answer = `${ANSWER}\r\n${header}\r\n,engine is closed,897\r\n`
      const failure = await rowsOf(answer).catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(FluxFailure)
      expect(failure).to.have.property('message').that.includes('engine is closed')
    })
  }

  it('reads no other columns for those asked for', async () => {
    const failure = await rowsOf(',result,table,_value,_time\r\n').catch((error: unknown) => error)
    expect(failure)
      .to.have.property('message')
      .that.matches(/^BUG: columns/)
  })
})
