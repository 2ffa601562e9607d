// JournalWatch on SQLite: reads what the forwarding process saves at least once a second.

import { setTimeout as pause } from 'node:timers/promises'
import type { DataVersion } from '../../domain/sensor.ts'
import type { JournalWatch } from '../../ports/journal-queue.ts'
import type { Connection } from '../database.ts'
import { lastSeqOf, versionOf } from '../data-version.ts'
import { JournalReader } from './journal-reader.ts'

const LOOK_EVERY_MS = 50

export class SqliteJournalWatch implements JournalWatch {
  readonly #journal: JournalReader

  constructor(db: Connection) {
    this.#journal = new JournalReader(db)
  }

  async head(): Promise<DataVersion> {
    return versionOf(this.#journal.lastSeq())
  }

  async forwarded(): Promise<DataVersion> {
    return versionOf(this.#journal.forwardedSeq())
  }

  async waitUntilReadable(versions: readonly DataVersion[], waitMsMax: number): Promise<boolean> {
    const seq = lastSeqOf(versions)
    for (let waitedMs = 0; waitedMs < waitMsMax; waitedMs += LOOK_EVERY_MS) {
      if (this.#journal.forwardedSeq() >= seq) return true
      await pause(LOOK_EVERY_MS)
    }
    return this.#journal.forwardedSeq() >= seq
  }
}
