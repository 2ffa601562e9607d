import { expect } from 'chai'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileSource, streamSource } from '../../../src/cli/import/byte-source.ts'
import { openRecords } from '../../../src/cli/import/read-records.ts'
import type { FileRecord } from '../../../src/cli/import/read-records.ts'

describe('openRecords', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-'))
  })
  after(() => rm(folder, { recursive: true }))

  async function read(content: string | Buffer) {
    const file = join(folder, 'file')
    await writeFile(file, content)
    const source = await openRecords(fileSource(file))
    const records: FileRecord[] = []
    let bytes = 0
    for await (const record of source.records((more) => (bytes += more))) records.push(record)
    return { source, records, bytes }
  }

  it('reads CSV with quotes, line feeds inside them, a BOM, blank lines and CRLF', async () => {
    const text = '\uFEFFtime,temp,sn\r\n1,"2,5",a\r\n\r\n3,"4""\r\n",b\r\n5,6,c'
    const { source, records, bytes } = await read(text)
    expect(source).to.include({ format: 'csv', header: 'time,temp,sn' })
    expect(source.columns).to.deep.equal(['time', 'temp', 'sn'])
    expect(records).to.deep.equal([
      { line: 2, raw: '1,"2,5",a', values: { time: '1', temp: '2,5', sn: 'a' } },
      { line: 4, raw: '3,"4""\r\n",b', values: { time: '3', temp: '4"\r\n', sn: 'b' } },
      { line: 6, raw: '5,6,c', values: { time: '5', temp: '6', sn: 'c' } },
    ])
    expect(bytes).to.equal(Buffer.byteLength(text))
  })

  it('reads cells that are separated by semicolons', async () => {
    const { source, records } = await read('time;temp (a, b)\n"1;2";3,5\n4;"5\n')
    expect(source).to.include({ delimiter: ';', header: 'time;temp (a, b)' })
    expect(records[0]?.values).to.deep.equal({ time: '1;2', 'temp (a, b)': '3,5' })
    expect(records[1]?.fault).to.equal('a quote is never closed')
    const { source: other } = await read('"a;b;c",time,temp\n')
    expect(other.columns).to.deep.equal(['a;b;c', 'time', 'temp'])
  })

  it('hands out what is no record with its fault and goes on after it', async () => {
    const { records } = await read('time,temp\n1\n2,"x"y\n3,4,5\n6,7"\n')
    expect(records.map(({ line, fault }) => [line, fault?.slice(0, 20)])).to.deep.equal([
      [2, '1 columns where the '],
      [3, 'a quote in the middl'],
      [4, '3 columns where the '],
      [5, undefined],
    ])
    expect(records[1]?.raw).to.equal('2,"x"y')
    expect(records[3]?.values).to.deep.equal({ time: '6', temp: '7"' })
  })

  it('holds a quote that is never closed against its own line alone', async () => {
    const { records } = await read('time,temp\n1,2\n3,"4\n5,6\n7,"8\n9"\n10,11\n')
    expect(
      records.map(({ line, values, fault }) => [line, fault ?? values?.['temp']]),
    ).to.deep.equal([
      [2, '2'],
      [3, 'a quote is never closed'],
      [4, '6'],
      [5, '8\n9'],
      [7, '11'],
    ])
  })

  it('reads a stream once, with the beginning that it has looked at', async () => {
    const parts = ['time,te', 'mp\n1,2\n', '3,4\n'].map((part) => Buffer.from(part))
    const source = await openRecords(streamSource('a stream', Readable.from(parts)))
    const temps: unknown[] = []
    for await (const { values } of source.records(() => undefined)) temps.push(values?.['temp'])
    expect(temps).to.deep.equal(['2', '4'])
  })

  it('reads NDJSON', async () => {
    const { source, records } = await read('\n{"sn":"a","temp":1}\nno\n[1]\n{"sn":"b"}')
    expect(source.format).to.equal('ndjson')
    expect(source.columns).to.deep.equal(['sn', 'temp', 'event_id'])
    expect(records.map(({ line, values, fault }) => values ?? `${line} ${fault}`)).to.deep.equal([
      { sn: 'a', temp: 1 },
      '3 not JSON: Unexpected token \'o\', "no" is not valid JSON',
      '4 not a JSON object',
      { sn: 'b' },
    ])
  })

  const refused = [
    { name: 'an empty file', content: '', message: /is empty/ },
    { name: 'text that is not UTF-8', content: Buffer.from([0x61, 0xff]), message: /not UTF-8/ },
    { name: 'a line without end', content: `{${' '.repeat(200_000)}`, message: /line 1 is longer/ },
  ]
  for (const { name, content, message } of refused) {
    it(`refuses ${name}`, async () => {
      const outcome = await read(content).then(
        () => 'read',
        (error: Error) => error.message,
      )
      expect(outcome).to.match(message)
    })
  }
})
