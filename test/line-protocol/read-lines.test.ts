// Bodies of line protocol as measurements; meanings.test.ts has what their points stand for.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { ServiceError } from '../../src/domain/errors.ts'
import { read, readParts } from '../support/line-bodies.ts'
import type { LineBody, Reading } from '../support/line-bodies.ts'

/** A busy machine lengthens the time of a reading, but not this. */
function processorSecondsSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1e6
}

describe('readLines', () => {
  it('refuses a number that no sender writes, however long, at once', async () => {
    const digits = '9'.repeat(60_000)
    for (const number of [digits, `${digits}i`, `${digits}u`, `1.${digits}x`]) {
      const { refused, keyed, unkeyed } = await read(`t temp=${number}`)
      expect(refused.map(({ reason }) => reason)).to.deep.equal(['not a number'])
      expect([...keyed, ...unkeyed]).to.deep.equal([])
    }
  })

  it('refuses a line without harm to its neighbours', async () => {
    const bad = [
      'x',
      'x temp=',
      'x temp',
      ',a=1 temp=1',
      'x,a= temp=1',
      'x,a=1,a=2 temp=1',
      'x,a=1=2 temp=1',
      'x temp=1x',
      'x temp=NaN',
      'x temp=9223372036854775808i',
      'x temp=1 12:30',
      'x temp=1 1 1',
      'x temp=1 9223372036854775808',
      'x text="open',
      'x temp=-273.16',
      'x temp=10000.1',
      'x\\',
    ]
    const good = 'x,sn=0011223344 temp=1'
    const body = await read(bad.flatMap((line) => [line, good]).join('\n'))
    expect(body.unkeyed).to.have.lengthOf(bad.length)
    expect(body.refused.map(({ line }) => line.text)).to.deep.equal(bad)
    expect(body.refused.map(({ line }) => line.number)).to.deep.equal(
      bad.map((_, at) => 2 * at + 1),
    )
  })

  it('reads bytes that are not UTF-8 in no line but their own', async () => {
    const odd = Buffer.from('x,room=caf\xe9 temp=1', 'latin1')
    const good = Buffer.from('\nx,room=café temp=2')
    const body = await read(Buffer.concat([odd, good]))
    expect(body.refused.map(({ reason }) => reason)).to.deep.equal(['not UTF-8'])
    expect(body.unkeyed[0]?.measurement.serialNumber).to.match(/^x\.caf_\./)
  })

  it('reads line breaks in strings, comments and blanks', async () => {
    const body = await read('# c\n\n  x text="a\nb \\" c",temp=1\r\n\tx temp=2 \n')
    expect(body.unkeyed.map(({ line }) => line.number)).to.deep.equal([3, 5])
    expect(body.refused).to.deep.equal([])
  })

  it('takes a return that does not end a line for a part of what it stands in', async () => {
    const body = 't,room=a\r temp=1 1\nt,room=a temp=1 1\r\nt,room=\r temp=1 1\nt\r temp=1 1'
    const { keyed, refused } = await read(body)
    expect(refused).to.deep.equal([])
    expect(new Set(keyed.map(({ measurement }) => measurement.eventId))).to.have.lengthOf(4)
    expect(new Set(keyed.map(({ measurement }) => measurement.serialNumber))).to.have.lengthOf(4)
  })

  it('reads what was written, whatever the texts are', async () => {
    // A backslash at an end would escape what comes after it, in every version of the protocol.
    const texts = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 20 })
      .filter((text) => !/[\\\r\n\t\0]|^#/u.test(text) && text.isWellFormed())
    const escape = (text: string) => text.replaceAll(/[,= ]/g, '\\$&')
    const points = fc.record({
      measurement: texts,
      tags: fc.dictionary(texts, texts, { noNullPrototype: true }),
      text: fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
      temp: fc.double({ min: -200, max: 9_000, noNaN: true }),
      time: fc.integer({ min: 0 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(points, { minLength: 1, maxLength: 5 }), async (written) => {
        const lines = written.map(({ measurement, tags, text, temp, time }) => {
          const pairs = Object.entries(tags).map(
            ([key, value]) => `,${escape(key)}=${escape(value)}`,
          )
          const quoted = `"${text.replaceAll(/["\\]/g, '\\$&')}"`
          const name = measurement.replaceAll(/[, ]/g, '\\$&')
          return `${name}${pairs.join('')} s=${quoted},temperature_c=${temp} ${time}`
        })
        const { keyed, refused } = await read(lines.join('\n'))
        const expected = written.map(({ temp, tags }) => (tags['domain'] ? temp : temp + 0))
        expect(refused).to.deep.equal([])
        expect(keyed.map(({ measurement }) => measurement.tempCelsius)).to.deep.equal(expected)
      }),
      { numRuns: 300 },
    )
  })

  it('is not slow, whatever quotes nothing closes or fields share a long key', async () => {
    const began = process.cpuUsage()
    const open = await read('" b="\n'.repeat(49_000))
    expect(open.refused.length).to.be.greaterThan(0)
    const fill = (text: string) => text.repeat(Math.floor(4_190_000 / text.length))
    const large = `x ${'a=1,'.repeat(1_025)}`
    for (const text of [
      `${large}${fill('s="",')}`,
      `${large}${'s="\n",'.repeat(49_000)}`,
      `${large}s="${fill('\\"')}`,
      fill(`${large}s="\n`),
      fill(`${large}s="${'\\"'.repeat(500)}\n`),
    ]) {
      expect((await read(text)).refused.length, text.slice(4_100, 4_140)).to.be.greaterThan(0)
    }
    const fields = Array.from({ length: 64 }, (_, at) => `temp_${at}=1`).join(',')
    const tags = Array.from({ length: 255 }, (_, at) => `t${at}=${'y'.repeat(220)}`).join(',')
    const lines = Array.from({ length: 60 }, (_, at) => `x,a=${at},${tags} ${fields} ${at}`)
    expect((await read(lines.join('\n'))).keyed).to.have.lengthOf(60 * 64)
    expect(processorSecondsSince(began)).to.be.lessThan(10)
  })

  it('refuses lines, tags and fields beyond what a line may have, and reads on', async () => {
    const tags = (count: number) => Array.from({ length: count }, (_, at) => `,t${at}=1`).join('')
    const fields = (count: number) => Array.from({ length: count }, (_, at) => `f${at}=1`).join(',')
    const long = (bytes: number) => `x,sn=1 s="${'y'.repeat(bytes - 18)}",temp=1`
    const most = [`x${tags(256)} temp=1`, `x ${fields(1_023)},temp=1`, long(65_536)]
    const tooMany = [
      [`x${tags(257)} temp=1`, 'more than 256 tags'],
      [`x ${fields(1_024)},temp=1`, 'more than 1024 fields'],
      [long(65_537), 'more than 65536 bytes'],
      [`${' '.repeat(65_530)}x temp=1`, 'more than 65536 bytes'],
      [`x,t=${'y'.repeat(4_000_000)} temp=1`, 'more than 65536 bytes'],
    ] as const
    for (const line of most) {
      const { unkeyed, refused } = await read(`${line}\r\nx temp=2`)
      expect([unkeyed.length, refused.length], line.slice(0, 20)).to.deep.equal([2, 0])
    }
    for (const [line, reason] of tooMany) {
      const { unkeyed, refused } = await read(`${line}\nx temp=2`)
      expect(refused.map((one) => [one.reason, one.isTooLarge])).to.deep.equal([[reason, true]])
      expect(unkeyed.map(({ line: { number } }) => number)).to.deep.equal([2])
    }
  })

  it('takes what the strings of a line that is too large contain for no line', async () => {
    const point = 'x temp=1 5\n'
    const long = 'y'.repeat(65_536)
    const fields = 'a=1,'.repeat(1_024)
    for (const line of [
      `x s="${long}\n${point}\\"\n${point}"`,
      `x s="${long}\\\\",t="\n${point}",temp=1 7`,
      `x s="\n${point}",t=1,u="${long}"`,
      `x s="\n${point}",t=${long},u="\n${point}"`,
      `x ${fields}s="\n${point}",t="\n${point}" 7`,
      `x${',t=1'.repeat(257)} s="\n${point}"`,
    ]) {
      const { keyed, refused } = await read(`${line}\nx temp=2 6\n`)
      expect(refused.map(({ isTooLarge }) => isTooLarge)).to.deep.equal([true])
      expect(keyed.map(({ measurement }) => measurement.tempCelsius)).to.deep.equal([2])
    }
  })

  it('reads on behind a quote that nothing closes, however much follows', async () => {
    const points = Array.from({ length: 8_000 }, (_, at) => `x temp=${at % 50} ${at}`)
    for (const next of ['x s="ok",temp=1 1', 'x temp=1 1']) {
      const open = 'x s="y,temp=1 1'
      const { keyed, refused } = await read([open, open, ...points, next, open].join('\n'))
      expect(refused).to.have.lengthOf(3)
      expect(keyed).to.have.lengthOf(points.length + 1)
    }
  })

  it('refuses a body with more lines or temperatures than it may have, but no other', async () => {
    const began = process.cpuUsage()
    const tooMuch = (body: string, reading?: Reading) =>
      read(body, reading).then(
        () => false,
        (error: unknown) => error instanceof ServiceError && error.code === 'batch_too_large',
      )
    expect(await tooMuch('x a=1\n'.repeat(50_000))).to.equal(false)
    expect(await tooMuch('#\n'.repeat(50_001))).to.equal(true)
    const line = (count: number, field = 'temp=1') => `x ${field}${`,${field}`.repeat(count - 1)}\n`
    for (const [field, reading] of [
      ['temp=1', {}],
      ['TEMP=1', {}],
      ['probeTemp=1', {}],
      ['flow_temperature=1', {}],
      ['p=1', { fields: new Set(['p']) }],
    ] as const) {
      const full = line(1_000, field).repeat(50)
      expect(await tooMuch(full, reading), field).to.equal(false)
      expect(await tooMuch(`${full}x s="\n",${field}`, reading), field).to.equal(true)
    }
    // None of these is a temperature, whatever it looks like.
    for (const other of ['tempo=1', 'value=1', 'temp_max=1', 'temp="x"']) {
      expect(await tooMuch(line(1_000, other).repeat(60)), other).to.equal(false)
    }
    expect(processorSecondsSince(began)).to.be.lessThan(10)
  })

  it('gives parts that are together what the lines are one by one', async () => {
    const now = 1795380000000000000n
    const line = fc.oneof(
      fc.nat(40).map((at) => `t,sn=0011223344,n=${at} temp=${at} ${now + BigInt(at)}`),
      fc.nat(700).map((count) => `t${',temp_1=5'.repeat(count).replace(',', ' ')} ${now}`),
      fc.nat(3).map((at) => `t temp=${at}`),
      fc.nat(3).map((at) => `t temp_${at}=1e9,temp=2e9,temp_1=3 ${now}`),
      fc.constantFrom('t s="a\nb",temp=1', 'no line', 't humidity=1', '# c', '', 't temp=1 x'),
      fc.nat(3).map((at) => `t,a=${'y'.repeat(20_000 * at)} temp=1`),
      fc.nat(2).map((at) => `t s="${'y'.repeat(33_000 * at)}\nt temp=1 5",t="\n",temp=1`),
    )
    const told = ({ keyed, unkeyed, refused, skipped, lineCount }: LineBody) => ({
      measurements: [keyed, unkeyed].map((list) => list.map(({ measurement }) => measurement)),
      refused: refused.map(({ reason, isTooLarge, line: { text } }) => [reason, isTooLarge, text]),
      skipped: skipped.map(({ line: { text } }) => text),
      lineCount,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 60 }), async (lines) => {
        const parts = await readParts(lines.join('\n'))
        for (const { keyed, unkeyed } of parts) {
          expect(keyed.length).to.be.at.most(500)
          expect(unkeyed.length).to.be.at.most(500 + 1_023)
        }
        expect(parts.map(({ isLast }) => isLast)).to.deep.equal(
          parts.map((_, at) => at === parts.length - 1),
        )
        const whole = told(await read(lines.join('\n')))
        const alone = await Promise.all(lines.map(async (one) => told(await read(one))))
        expect(whole).to.deep.equal({
          measurements: [0, 1].map((at) => alone.flatMap(({ measurements }) => measurements[at])),
          refused: alone.flatMap(({ refused }) => refused),
          skipped: alone.flatMap(({ skipped }) => skipped),
          lineCount: alone.reduce((sum, { lineCount }) => sum + lineCount, 0),
        })
      }),
      { numRuns: 60 },
    )
  })

  it('lets others have their turn by the work done, not by lines', async () => {
    const line = `x ${'a=1,'.repeat(1_000)}a=1\n`
    let turns = 0
    const letOthers = async () => void turns++
    await read(line.repeat(400), { letOthers })
    expect(turns).to.be.at.least((line.length * 400) / (200 * 1_024))
  })

  it('takes times in minutes and hours for what they are, however long', async () => {
    const units = { minute: 60_000_000_000n, hour: 3_600_000_000_000n }
    for (const [name, unitNs] of Object.entries(units)) {
      const { refused, keyed } = await read('x temp=1 179538000000000000', { unitNs })
      const told = [refused.map(({ reason }) => reason), keyed.length]
      expect(told, name).to.deep.equal([['time outside range'], 0])
    }
    const { keyed } = await read('x temp=1 29923000', { unitNs: units.minute })
    expect(keyed[0]?.measurement.measuredAtMs).to.equal(29_923_000 * 60_000)
  })
})
