// The secret that encrypts event keys (event-key.ts). It is made once, with the data, and kept in
// control.db, so every backup has it; nothing ever shows it. Journal and ledger each have a check
// value that only their own secret produces: with any other secret, every event would look new.

import { hkdfSync, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { CONTROL_FILE, LEDGER_FILE } from './database.ts'
import type { Connection } from './database.ts'
import { EVENT_SECRET_BYTES, EventKeyCipher } from './event-key.ts'

const SECRET = 'SELECT secret, checksum, journal_check AS journalCheck FROM event_secret'
const INSERT_SECRET = `
  INSERT INTO event_secret (id, secret, checksum, journal_check) VALUES (1, ?, ?, ?)`
const LEDGER_CHECK = 'SELECT key_check FROM sealed WHERE id = 1'
const SET_LEDGER_CHECK = 'UPDATE sealed SET key_check = ? WHERE id = 1'
/** What to do; `verify` has its own words for it. */
const USE = 'use the files that were written together, or restore a backup'

const CURSOR_SECRET_BYTES = 32

const HAS_EVENTS = `
  SELECT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'journal' AND seq > 0)`

interface SecretRow {
  readonly secret: Buffer
  readonly checksum: number
  readonly journalCheck: Buffer
}

/** Makes the secret of new data; does nothing if there is one. */
export function makeEventSecret(control: Connection): void {
  control
    .transaction(() => {
      if (control.prepare(SECRET).get() !== undefined) return
      // Another secret would not recognise the existing events.
      if (control.prepare<[], number>(HAS_EVENTS).pluck().get() === 1) return
      const secret = randomBytes(EVENT_SECRET_BYTES)
      const { check } = new EventKeyCipher(secret)
      control.prepare(INSERT_SECRET).run(secret, crc32(secret), check)
    })
    .immediate()
}

/** @throws Error if it is missing or damaged, or the journal was written with another one */
export function readEventSecret(control: Connection): Uint8Array {
  const row = control.prepare<[], SecretRow>(SECRET).get()
  if (row === undefined) throw new Error(`${CONTROL_FILE} has lost its event secret: ${USE}`)
  const { secret, checksum, journalCheck } = row
  if (secret.length !== EVENT_SECRET_BYTES || crc32(secret) !== checksum) {
    throw new Error(`the event secret in ${CONTROL_FILE} is damaged: ${USE}`)
  }
  if (!new EventKeyCipher(secret).check.equals(journalCheck)) {
    throw new Error(`the journal in ${CONTROL_FILE} was written with another secret: ${USE}`)
  }
  return secret
}

/** A secret for the cursors of clients, of which nobody can tell this one. */
export function deriveCursorSecret(eventSecret: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', eventSecret, '', 'cursors', CURSOR_SECRET_BYTES))
}

/** Binds a new ledger to a secret. */
export function bindLedger(ledger: Connection, secret: Uint8Array): void {
  const { check } = new EventKeyCipher(secret)
  if (readLedgerCheck(ledger) === null) ledger.prepare(SET_LEDGER_CHECK).run(check)
  refuseOtherLedger(ledger, secret)
}

/** @throws Error if a ledger was written with another secret */
export function refuseOtherLedger(ledger: Connection, secret: Uint8Array): void {
  const stored = readLedgerCheck(ledger)
  // The ledger is still empty.
  if (stored === null || new EventKeyCipher(secret).check.equals(stored)) return
  throw new Error(`${LEDGER_FILE} does not belong to the secret in ${CONTROL_FILE}: ${USE}`)
}

function readLedgerCheck(ledger: Connection): Buffer | null {
  return ledger.prepare<[], Buffer | null>(LEDGER_CHECK).pluck().get() ?? null
}
