// The sealed ledger as rows, with the bits of the event ids: the secret of the data turns keys back
// into them, so that a database recognises what was accepted here. Read by segments, of each the
// runs that have its events, so memory is bounded however large the ledger is.

import type { MovedTable, MovedValue } from '../../ports/moved-data.ts'
import { damagedFile, LEDGER_FILE, orDamaged } from '../database.ts'
import type { Connection } from '../database.ts'
import { EventKeyCipher, KEY_WORDS, readEventSecret } from '../event-key.ts'
import { BlockStore } from '../ledger/block-store.ts'
import { CohortStore } from '../ledger/cohort-store.ts'
import { EVENT_BYTES, SEGMENTS, unpackEvent } from '../ledger/ledger-run.ts'
import type { Run } from '../ledger/ledger-run.ts'
import { readYoungRuns } from '../ledger/stored-runs.ts'
import type { MovedSensors } from './moved-sensors.ts'

const KEY_BYTES = KEY_WORDS * 4
const EVENTS = 'SELECT total(events) FROM runs WHERE merged_into IS NULL'

/** A run, and the segments [from, to) whose events are in it. */
interface RunPart {
  readonly run: Run
  readonly from: number
  readonly to: number
}

export class MovedEvents implements MovedTable {
  readonly name = 'ledger'
  readonly columns = ['at_ms', 'temp_celsius', 'key', 'sensor_id', 'user_id']
  readonly #ledger: Connection
  readonly #blocks: BlockStore
  readonly #cipher: EventKeyCipher
  readonly #sensors: MovedSensors

  constructor(
    { control, ledger }: { readonly control: Connection; readonly ledger: Connection },
    sensors: MovedSensors,
  ) {
    this.#ledger = ledger
    this.#blocks = new BlockStore(ledger)
    this.#cipher = new EventKeyCipher(readEventSecret(control))
    this.#sensors = sensors
  }

  total(): number {
    return this.#ledger.prepare<[], number>(EVENTS).pluck().get() ?? 0
  }

  *pages(): Generator<MovedValue[][]> {
    const parts = orDamaged(damagedFile(LEDGER_FILE), () => this.#parts())
    for (let segment = 0; segment < SEGMENTS; segment++) {
      for (const { run, from, to } of parts) {
        if (segment >= from && segment < to) yield this.#rowsOf(this.#blocks.read(run, segment))
      }
    }
  }

  #parts(): RunPart[] {
    const young = readYoungRuns(this.#ledger).map((run) => {
      return { run, from: run.movedBelow, to: SEGMENTS }
    })
    const merged = new CohortStore(this.#ledger).runs().map((run) => {
      return { run, from: 0, to: run.segmentsWritten }
    })
    return [...young, ...merged]
  }

  #rowsOf(entries: Buffer): MovedValue[][] {
    const count = entries.length / EVENT_BYTES
    const events = Array.from({ length: count }, (_, at) => {
      return unpackEvent(entries.subarray(at * EVENT_BYTES))
    })
    const userIds = events.map(({ sensorId }) => this.#sensors.userOf(sensorId))
    const keys = Buffer.allocUnsafe(count * KEY_BYTES)
    for (let at = 0; at < count; at++) {
      entries.copy(keys, at * KEY_BYTES, at * EVENT_BYTES, at * EVENT_BYTES + KEY_BYTES)
    }
    this.#cipher.decrypt(keys, userIds)
    return events.map(({ measuredAtMs, tempCelsius, sensorId }, at) => {
      const userId = userIds[at] ?? 0
      const key = keys.subarray(at * KEY_BYTES, (at + 1) * KEY_BYTES)
      return [measuredAtMs, tempCelsius, key, sensorId, userId]
    })
  }
}
