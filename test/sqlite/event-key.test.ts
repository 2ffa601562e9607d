// Goal: the key of an event is the same for the same id, user and secret, another one for anything
// else, and nobody without the secret can tell or choose what it is.

import { createCipheriv, createDecipheriv, createHash, randomBytes, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { writeEventBits } from '../../src/domain/event-bits.ts'
import { EventKeyCipher, KEY_WORDS } from '../../src/sqlite/event-key.ts'

const V7 = '01940f2e-7c1b-7a40-8c3d-0123456789ab'

describe('the key of an event', () => {
  const secret = randomBytes(32)
  const cipher = new EventKeyCipher(secret)

  it('begins as the bytes of a canonical UUID of version 1 to 7', () => {
    fc.assert(
      fc.property(fc.uuid({ version: [1, 2, 3, 4, 5, 6, 7] }), (uuid) => {
        expect(plainBits(uuid)).to.equal(uuid.replaceAll('-', ''))
      }),
    )
  })

  for (const { name, text } of [
    { name: 'a UUID in capitals', text: V7.toUpperCase() },
    { name: 'a UUID of version 8', text: V7.replace('-7a40', '-8a40') },
    { name: 'a UUID of version 0', text: V7.replace('-7a40', '-0a40') },
    { name: 'a UUID of another variant', text: V7.replace('-8c3d', '-cc3d') },
    { name: 'a UUID in braces', text: `{${V7}}` },
    { name: 'a UUID without dashes', text: V7.replaceAll('-', '') },
    { name: 'what has a letter too many', text: V7.replace('ab', 'ag') },
    { name: 'what has a character beyond ASCII', text: V7.replace('ab', 'aß') },
    { name: 'any other text', text: '2026-11-20T10:00:00Z/sensor-7' },
    { name: 'a text of one character', text: 'x' },
  ]) {
    it(`begins as 128 bits of SHA-256 with version 8, of ${name}`, () => {
      const digest = createHash('sha256').update(text).digest('hex')
      const marked = `${digest.slice(0, 12)}8${digest.slice(13, 32)}`
      expect(plainBits(text)).to.equal(marked)
    })
  }

  it('is AES of them and of the user, so that whoever has the secret gets them back', () => {
    const ids = [randomUUID(), randomUUID(), 'no UUID']
    const keys = wordsOf(ids)
    cipher.encrypt({ keys, userId: [7, 9], elementsEnd: [2, 3] }, 2)
    const decipher = createDecipheriv('aes-128-ecb', secret.subarray(16), null)
    const opened = decipher.setAutoPadding(false).update(new Uint8Array(keys.buffer))
    const masks = [7, 7, 9].map((userId) => maskOf(userId, secret.subarray(0, 16)))
    const plain = Buffer.concat(masks).map((byte, at) => byte ^ (opened[at] ?? 0))
    expect(Buffer.from(plain).toString('hex')).to.equal(ids.map(plainBits).join(''))
  })

  it('differs between users and between secrets, and not between groups', () => {
    const others = [keyOf(cipher, V7, 1), keyOf(cipher, V7, 2)]
    others.push(keyOf(new EventKeyCipher(randomBytes(32)), V7, 1))
    expect(new Set(others).size).to.equal(3)
    expect(keyOf(new EventKeyCipher(secret), V7, 1)).to.equal(others[0])
  })

  it('is spread evenly when ids are chosen to meet', () => {
    const count = 4_096
    // Ids that agree in all bits but the last twelve.
    const ids = Array.from({ length: count }, (_, at) => {
      return `${V7.slice(0, -3)}${at.toString(16).padStart(3, '0')}`
    })
    const keys = wordsOf(ids)
    cipher.encrypt({ keys, userId: [1], elementsEnd: [count] }, 1)
    for (let word = 0; word < KEY_WORDS; word++) {
      const perSegment = new Uint32Array(256)
      for (let at = word; at < keys.length; at += KEY_WORDS) perSegment[(keys[at] ?? 0) >>> 24]!++
      // 16 on average.
      expect(Math.max(...perSegment)).to.be.lessThan(48)
    }
  })

  it('has a check value that only its secret gives', () => {
    expect(new EventKeyCipher(secret).check).to.deep.equal(cipher.check)
    expect(new EventKeyCipher(randomBytes(32)).check).to.not.deep.equal(cipher.check)
  })
})

function wordsOf(ids: readonly string[]): Uint32Array {
  const words = new Uint32Array(ids.length * KEY_WORDS)
  ids.forEach((id, at) => writeEventBits(id, words, at * KEY_WORDS))
  return words
}

function plainBits(id: string): string {
  return Buffer.from(wordsOf([id]).buffer).toString('hex')
}

function keyOf(cipher: EventKeyCipher, id: string, userId: number): string {
  const keys = wordsOf([id])
  cipher.encrypt({ keys, userId: [userId], elementsEnd: [1] }, 1)
  return keys.join()
}

function maskOf(userId: number, key: Buffer): Buffer {
  const block = Buffer.alloc(16)
  block.writeUInt32LE(userId)
  return createCipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(block)
}
