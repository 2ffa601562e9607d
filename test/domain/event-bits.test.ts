// Goal: an event id has the bits that an operator can work out by hand.

import { expect } from 'chai'
import { createHash } from 'node:crypto'
import { EVENT_BITS_WORDS, writeEventBits } from '../../src/domain/event-bits.ts'

const UUIDS = ['6fa459ea-ee8a-3ca4-894e-db77e160355e', '018f0000-0000-7000-8000-000000000001']

const OTHERS = [
  '6FA459EA-EE8A-3CA4-894E-DB77E160355E',
  '00000000-0000-8000-8000-000000000000',
  '00000000-0000-0000-0000-000000000000',
  'e1',
  '',
  'Grüße aus dem Keller',
  'x'.repeat(1_000),
]

function hexOf(eventId: string): string {
  const words = new Uint32Array(EVENT_BITS_WORDS)
  writeEventBits(eventId, words, 0)
  return Buffer.from(words.buffer).toString('hex')
}

describe('the bits of an event id', () => {
  for (const uuid of UUIDS) {
    it(`are those of ${uuid}`, () => {
      expect(hexOf(uuid)).to.equal(uuid.replaceAll('-', ''))
    })
  }

  for (const eventId of OTHERS) {
    it(`are a hash with the mark of version 8: ${eventId.slice(0, 40)}`, () => {
      const hash = createHash('sha256').update(eventId).digest('hex').slice(0, 32)
      expect(hexOf(eventId)).to.equal(`${hash.slice(0, 12)}8${hash.slice(13)}`)
    })
  }
})
