// Which server has the data, and which one is recorded as having them. Another one has a restored
// copy, also if it was a standby: it may lack what was acknowledged last. So has the recorded one
// when its data lack a beat, which each process writes once a second.

import type pg from 'pg'
import type { DataIdentity } from '../../ports/control-reader.ts'
import { MoveUnfinished, readRow, withConnection } from './connection.ts'
import { READ_DURABILITY } from './durability.ts'
import type { DurabilityRow } from './durability.ts'
import { SERVER_TIME_MS } from './server-time.ts'

/** The first statement of every transaction that changes anything: it finds one row. */
export const READ_SERVER = `
  SELECT d.*, i.timeline AS "recordedTimeline", i.system_identifier AS "recordedSystemIdentifier",
    i.id, i.epoch, i.restored_to_ms AS "restoredToMs", i.beat, i.beat_at_ms AS "beatAtMs",
    to_regclass('moving') IS NOT NULL AS "isMoving", ${SERVER_TIME_MS} AS "serverTimeMs"
  FROM (${READ_DURABILITY}) AS d, data_identity AS i`

/** How far data have come: a later epoch is greater, whatever its beats. */
interface Reached {
  /** New after each restore, and greater. */
  readonly epoch: string
  readonly beat: number
}

/** The server that has the data, and the recorded one. */
export interface ServerRow extends DurabilityRow, Reached {
  /** `null` before the first record. */
  readonly recordedTimeline: string | null
  readonly recordedSystemIdentifier: string | null
  /** Of the data. */
  readonly id: string
  readonly restoredToMs: number | null
  /** When the last beat was written, by the server's clock; 0: none was. */
  readonly beatAtMs: number
  readonly isMoving: boolean
  readonly serverTimeMs: number
}

/** What a process knows of the data. */
export class KnownData implements DataIdentity {
  #id = ''
  #restoredToMs: number | null = null
  #reached: Reached | undefined

  get id(): string {
    return this.#id
  }

  get restoredToMs(): number | null {
    return this.#restoredToMs
  }

  /** The last beat that it wrote or found: to be taken before data are asked for theirs. */
  get reached(): Reached | undefined {
    return this.#reached
  }

  note({ id, restoredToMs, ...found }: Pick<ServerRow, 'id' | 'restoredToMs'> & Reached): void {
    if (isBehind(found, this.#reached)) return
    this.#id = id
    this.#restoredToMs = restoredToMs
    this.#reached = { epoch: found.epoch, beat: found.beat }
  }
}

/** Whether nothing was recorded yet: the tables are new, or were moved in. */
export function isUnrecorded({ recordedTimeline }: ServerRow): boolean {
  return recordedTimeline === null
}

/** Whether it is the recorded server, with all that a process knows. */
export function isRecorded(row: ServerRow, known: Reached | undefined): boolean {
  const isSame =
    row.recordedTimeline === row.timeline && row.recordedSystemIdentifier === row.systemIdentifier
  return isSame && !isBehind(row, known)
}

function isBehind(found: Reached, known: Reached | undefined): boolean {
  if (known === undefined || found.epoch > known.epoch) return false
  return found.epoch < known.epoch || found.beat < known.beat
}

/** @throws MoveUnfinished */
export async function readServer(client: pg.ClientBase): Promise<ServerRow> {
  const row = await readRow<ServerRow>(client, READ_SERVER)
  if (row.isMoving) throw new MoveUnfinished()
  return row
}

/** @throws MoveUnfinished */
export async function refuseUnfinishedMove(databaseUrl: string): Promise<void> {
  await withConnection(databaseUrl, (client) => readServer(client))
}
