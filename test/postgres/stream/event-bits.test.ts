// Goal: an event that was sent to a data directory is known after the move to PostgreSQL.

import { expect } from 'chai'
import { eventBits } from '../../../src/postgres/stream/event-bits.ts'
import { KEY_WORDS, writeEventId } from '../../../src/sqlite/event-key.ts'

const EVENT_IDS = [
  '6fa459ea-ee8a-3ca4-894e-db77e160355e',
  '018f0000-0000-7000-8000-000000000001',
  '6FA459EA-EE8A-3CA4-894E-DB77E160355E',
  '00000000-0000-8000-8000-000000000000',
  '00000000-0000-0000-0000-000000000000',
  'e1',
  '',
  'Grüße aus dem Keller',
  'x'.repeat(1_000),
]

describe('the bits of an event id', () => {
  for (const eventId of EVENT_IDS) {
    it(`are those of a data directory: ${eventId.slice(0, 40)}`, () => {
      const words = new Uint32Array(KEY_WORDS)
      writeEventId(eventId, words, 0)
      expect(eventBits(eventId)).to.equal(Buffer.from(words.buffer).toString('latin1'))
    })
  }
})
