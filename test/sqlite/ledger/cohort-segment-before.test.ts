// Goal: what version 5 of ledger.db has written of a cohort's filter is known by this one.

import { expect } from 'chai'
import Database from 'better-sqlite3'
import { EMPTY_SEGMENT, mayBeInSlot } from '../../../src/sqlite/ledger/cohort-segment.ts'
import { SegmentMerger } from '../../../src/sqlite/ledger/cohort-segment-merger.ts'
import { CohortStore } from '../../../src/sqlite/ledger/cohort-store.ts'
import { LEDGER_MIGRATIONS } from '../../../src/sqlite/ledger/schema.ts'

/** Written by version 5, of the keys that `positionsOf` gives to the slots 0 and 1. */
const SEGMENT_OF_VERSION_5 = [
  'AQAAAJABAAAEAAAAnwAAAO1ud6979bvd3e5W/3p3u9vd79717ne3u9e9/t3ubne7xwAAAAAXL0ded4+oABAAQABA',
  'ACAAAAEBAAAAAAACAAAAABCAf4BwH+iUjEIcA52SYIoXuL4F4J0iOqWgMTwwxQNU6IChBXhLNADvDPJpgD4YwPIY',
  'dvUKZrQCpngImh1IHwQENgJDi+CzNb4lAniAgKrrIFs6kE8DHvkB1MmA5REGVgmKTOKuXkAcF9h/gifOA0zxIDYP',
  'qKkDnBhgs9Fg3TMgsAEQY4BQZDj3K/DZCq7k47dEgJ4QZuAIIi8CVddYuAg4CoK/sGG8t6BfDdDsB2Yp4eWVAOok',
  'RvMF2nPjwCrAIAr2QA9Gx+NdvZg6AshqgONIA/vP2OEmPnEGWJNhYjC4+z4Qm4/1FIH/QviiA4ahDWpf42YjQEoI',
  'VsuGB+ECBLYYZCDO0YR7K2FrlmALJZ77jRmtYAgpOCU9cCUHhQBj4734WwIgc4D5SuFKnjgDJ5Z5Bm6V4ecwGB0/',
  'ZqOPCxdDTxFYxAPeqY1/YWPsozDeG67Thh3jgok28BQhXiGIiTZhZEs4vAXUJ479gOPLK3hjCqZRB5sC42i+WH0C',
  'dnuAD01B0J6YJCfugQ6tzmBtMXA+P76rjyEZw9QRuOUDNrIFv5ricaSQ/xsG3IYz5UDZhNimIHzihKcvQ7QZmN0F',
  'LDCOE4NDUaxw9x3+WQexBGPuvrieInRghSVPwVUfkLg6RooOw9Dg8jHQXx+8kIw3G0NaEhgHBIy6BdWcYvek8CA8',
  'BMEDSefAXoU4yCDU6gznaKJjg1ghIOZojisEgiSu2Lw7HFgNm3cBAAAAf72r3e3ud79697vb3e5e/253u7vdvf71',
  '7nZ3u9+9+93JAAAAABgxSWJ5kqkAAIEAAAABAACAAAAAAAgAAABAAAAAAAD44fsXEOI4phQGU7zC1qzQGB5WYgfH',
  'BkE+jRDAIsxohTtRQdsf8Nk6nJIO2dLABH5QZDI2dQx/S0JsXpALF6x7ghzNQwnxcCUPfKUDkRegcNGwzDP0qwEF',
  'YsANZIjmK8TVCqPjwar2SB0RdCOEDjfChYuQxDXqKQKDgUDt69BrGpp3C+/UQIp+sIUSMloJlU2i8V7wLBcEhIIy',
  'z8OO8chGD9Sti54iwGkGiH00hPsME20i0WbQJBn6AQuHt0Ju+ag+EcwrhCQ5oNXZ8OU1QjICmYOgcmzI/y0UXAM/',
  '/CPaTAinEopiCatPInff6MAKXIyCSNFDFPIoaC/SkgC9G6B70nAPFILgiShvolZnMEYZUgqDxvCj8/kIYBEkNIQ6',
  'OyBb2lAHNpo6iti8IfhsKCEubGSLTAeiX01oyBLiagHqiKP830jiCrKUgl7TAWTAiIkvKpuA0h0gAVNgoyf6xIlw',
  'n4NoM6hKDHLLj+TpowXGgGQEQvWAgmujolhAmynyQgruvqF9bYhCDmhJiGIJAuVNyOkSOnMBAIsjguCoAwsKnYJ0',
  '1YHpwOiqL4KjCBJXoYZTwMQnUs2JhqED7jMIbAzI0wckIyOLxuCFBJr9AJhtgfKmKC0pEASHDLiDzTvoYw7AUYh4',
  'C4JqzsB9BpJ7ARaNowfhACUrCIKHitcBb8FIzA+4zwj2KgJKVggDFYj5AZSsI+fo4BwNWiOLCgHifKUIMiDaFAjB',
  'UQKbdwAAAAAAAA==',
].join('')

describe('a segment that version 5 has written', () => {
  it('has the keys of all its runs, and goes on taking keys', () => {
    const before = storedAndRead(Buffer.from(SEGMENT_OF_VERSION_5, 'base64'))
    const segment = new SegmentMerger().merge(before, positionsOf(2), 2)
    for (const slot of [0, 1, 2]) {
      for (const position of positionsOf(slot)) {
        expect(mayBeInSlot(segment, position, slot)).to.equal(true)
        expect(mayBeInSlot(segment, position, 3)).to.equal(false)
        if (slot < 2) expect(mayBeInSlot(before, position, slot)).to.equal(true)
      }
    }
  })

  it('is read as this version would have written it', () => {
    const merger = new SegmentMerger()
    const now = merger.merge(merger.merge(EMPTY_SEGMENT, positionsOf(0), 0), positionsOf(1), 1)
    const before = storedAndRead(Buffer.from(SEGMENT_OF_VERSION_5, 'base64'))
    expect(before).to.deep.equal(now)
    expect(storedAndRead(Buffer.from(now.buffer))).to.deep.equal(now)
  })
})

function positionsOf(slot: number): Int32Array {
  return Int32Array.from(
    { length: 200 },
    (_, at) => Math.imul(at * 2 + slot + 1, 0x9e37_79b1) >>> 5,
  )
}

function storedAndRead(filter: Buffer) {
  const db = new Database(':memory:')
  for (const { sql } of LEDGER_MIGRATIONS) db.exec(sql)
  db.prepare('INSERT INTO cohort_segments (id, filter) VALUES (256, ?)').run(filter)
  return new CohortStore(db).segment(1, 0)
}
