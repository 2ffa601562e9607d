// Which server has the data, and which one is recorded as having them. Another one has a restored
// copy, also if it was a standby: it may lack what was acknowledged last. So has the recorded one
// when its data lack a beat, which each process writes once a second.

import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { DataIdentity } from '../../ports/control-reader.ts'
import { MoveUnfinished, OtherData, withConnection } from './connection.ts'
import { READ_DURABILITY } from './durability.ts'
import type { DurabilityRow } from './durability.ts'

/** The first statement of every transaction that changes anything, for the process `$1`. */
export const READ_SERVER = `
  SELECT d.*, i.epoch, coalesce(b.beat, 0) AS beat,
    (i.timeline, i.system_identifier) IS NOT DISTINCT FROM (d.timeline, d."systemIdentifier")
      AS "isRecorded"
  FROM (${READ_DURABILITY}) AS d, data_identity AS i LEFT JOIN beats AS b ON b.process = $1`
/** Keys are restored last, behind all rows and numbers. */
const READ_DATA = `
  SELECT s.*, i.id, i.restored_to_ms AS "restoredToMs", i.timeline IS NULL AS "isUnrecorded",
    to_regclass('moving') IS NOT NULL AS "isMoving",
    to_regclass('data_identity_pkey') IS NULL AS "isIncomplete"
  FROM (${READ_SERVER}) AS s, data_identity AS i`

/** How far data have come. */
interface Reached {
  /** New after each restore, and greater. */
  readonly epoch: string
  /** How often the process has written to them in that epoch. */
  readonly beat: number
}

/** The server that has the data. */
export interface ServerRow extends DurabilityRow, Reached {
  /** Whether it is the one that is recorded. */
  readonly isRecorded: boolean
}

export interface DataRow extends ServerRow {
  readonly id: string
  readonly restoredToMs: number | null
  /** Nothing was recorded yet: the tables are new, or were moved in. */
  readonly isUnrecorded: boolean
  readonly isMoving: boolean
  readonly isIncomplete: boolean
}

/** What a process knows of the data. */
export class KnownData implements DataIdentity {
  readonly process = randomUUID()
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

  note({ id, restoredToMs, ...found }: Pick<DataRow, 'id' | 'restoredToMs'> & Reached): void {
    if (isBehind(found, this.#reached)) return
    this.#id = id
    this.#restoredToMs = restoredToMs
    this.#reached = { epoch: found.epoch, beat: found.beat }
  }

  /** The process has written a beat. @param written which one, in what epoch it was then */
  noteBeat(written: Reached): void {
    if (written.epoch === this.#reached?.epoch && isBehind(this.#reached, written)) {
      this.#reached = written
    }
  }
}

/** Whether it is the recorded server, with all that a process knows. */
export function isKnownServer(row: ServerRow, known: Reached | undefined): boolean {
  return row.isRecorded && !isBehind(row, known)
}

function isBehind(found: Reached, known: Reached | undefined): boolean {
  if (isEarlier(found, known)) return true
  return found.epoch === known?.epoch && found.beat < known.beat
}

/** Whether they are data of before a restore that the process knows of. */
export function isEarlier({ epoch }: Reached, known: Reached | undefined): boolean {
  return known !== undefined && epoch < known.epoch
}

/** @param process whose beat is read @throws MoveUnfinished @throws OtherData */
export async function readData(
  client: pg.ClientBase,
  process: string | null = null,
): Promise<DataRow> {
  const { rows } = await client.query<DataRow>(READ_DATA, [process])
  const [row] = rows
  if (row === undefined || row.isIncomplete) throw new OtherData('its tables are being restored')
  if (row.isMoving) throw new MoveUnfinished()
  return row
}

/** @throws MoveUnfinished @throws OtherData */
export async function refuseUnfinishedMove(databaseUrl: string): Promise<void> {
  await withConnection(databaseUrl, (client) => readData(client))
}
