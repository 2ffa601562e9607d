// Encrypts what a sign-in brought (AES-256-GCM), with a key made of its code: the database alone is
// useless.

import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

export function seal(secret: string, content: unknown): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, keyOf(secret), nonce)
  const text = Buffer.concat([cipher.update(JSON.stringify(content)), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text])
}

/** @throws Error if it was not sealed with this secret */
export function unseal(secret: string, sealed: Buffer): unknown {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv(ALGORITHM, keyOf(secret), nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES))
  return JSON.parse(Buffer.concat([text, decipher.final()]).toString('utf8'))
}

function keyOf(secret: string): Buffer {
  return hash('sha256', `sealed with ${secret}`, 'buffer')
}
