// What a decided group writes. Arrays are sorted in the order in which every process locks rows.

import { encodeEntries } from '../../domain/measurement-columns.ts'
import type { AcceptanceRules } from '../../domain/acceptance.ts'
import { becomesLatest } from '../../domain/sensor.ts'
import { cover, encodeSpans } from '../../domain/time-spans.ts'
import { DAY_MS } from '../../domain/time.ts'
import type { JournalPlace } from '../../ports/journal-queue.ts'
import { placesOf, placesText } from '../data-version.ts'
import { revisionStatements } from './history-revisions.ts'
import { float8Array, int4Array, int8Array, uuidArray } from './binary-arrays.ts'
import type { NewEvent, NewSensor, TieBreak } from './group-decider.ts'
import type { GroupView, SensorState } from './group-view.ts'
import * as sql from './lane-statements.ts'
import type { Session } from './session.ts'

/** A row of the ledger. */
export interface LedgerRow {
  readonly eventKey: string
  readonly userId: number
  readonly sensor: { readonly id: number }
  readonly measuredAtMs: number
  readonly tempCelsius: number
}

/** @returns whether none of the events was in the ledger */
export async function insertEvents(session: Session, rows: readonly LedgerRow[]): Promise<boolean> {
  if (rows.length === 0) return true
  const sorted = rows.toSorted(byKey)
  const { rowCount } = await session.send(sql.INSERT_EVENTS, [
    uuidArray(sorted.map(({ eventKey }) => eventKey)),
    int4Array(sorted.map(({ userId }) => userId)),
    int4Array(sorted.map(({ sensor }) => sensor.id)),
    int8Array(sorted.map(({ measuredAtMs }) => measuredAtMs)),
    float8Array(sorted.map(({ tempCelsius }) => tempCelsius)),
  ])
  return rowCount === rows.length
}

/**
 * As the primary key has them. A user's are side by side there, so a batch of random ids finds many
 * on one page, and whatever ids a user chooses, those of others stay where they are.
 */
function byKey(one: LedgerRow, other: LedgerRow): number {
  return one.userId - other.userId || (one.eventKey < other.eventKey ? -1 : 1)
}

/** Registers sensors, with ids that nobody else has. Their users must be locked. */
export async function registerSensors(
  session: Session,
  sensors: readonly NewSensor[],
): Promise<void> {
  if (sensors.length === 0) return
  const ids = int4Array(sensors.map(({ id }) => id))
  const userIds = int4Array(sensors.map(({ userId }) => userId))
  const byUser = Map.groupBy(sensors, ({ userId }) => userId)
  await Promise.all([
    session.send(sql.REGISTER_SENSORS, [
      ids,
      userIds,
      sensors.map(({ serialNumber }) => serialNumber),
      sensors.map(({ serialNumberKey }) => serialNumberKey),
      sensors.map(({ alias }) => alias),
      int8Array(sensors.map(({ createdAtMs }) => createdAtMs)),
    ]),
    session.send(sql.ADD_SENSOR_STATES, [ids, userIds]),
    session.send(sql.COUNT_SENSORS, [
      int4Array([...byUser.keys()]),
      int4Array([...byUser.values()].map(({ length }) => length)),
    ]),
  ])
}

type Latest = Pick<NewEvent, 'measuredAtMs' | 'tempCelsius' | 'tieBreakNs'>

/** Before the first measurement. */
const NONE: Latest = { measuredAtMs: -Infinity, tempCelsius: 0, tieBreakNs: 0 }

/** Updates the sensors' states: latest reading, time spans, last row of the journal. */
export function updateSensors(
  session: Session,
  events: readonly NewEvent[],
  { view, place }: { readonly view: GroupView; readonly place: JournalPlace },
  { futureMsMax }: Pick<AcceptanceRules, 'futureMsMax'>,
): Promise<unknown> {
  const byId = Map.groupBy(events, ({ sensor }) => sensor.id)
  const changed = [...byId].map(([id, own]) => {
    return { id, ...nextState(own, view.states.get(id), futureMsMax) }
  })
  const sorted = changed.toSorted((one, other) => one.id - other.id)
  const updated = session.send(sql.UPDATE_SENSORS, [
    int4Array(sorted.map(({ id }) => id)),
    int8Array(sorted.map(({ measuredAtMs }) => measuredAtMs)),
    float8Array(sorted.map(({ tempCelsius }) => tempCelsius)),
    int4Array(sorted.map(({ tieBreakNs }) => tieBreakNs)),
    int8Array(sorted.map(({ seenAtMs }) => seenAtMs)),
    sorted.map(({ pending }) => pendingWith(pending, place, view.forwarded)),
    sorted.map(({ spans }) => encodeSpans(spans)),
    int8Array(sorted.map(({ oldestAtMs }) => oldestAtMs)),
    place.stream,
    place.seq,
  ])
  const ahead = sorted.filter(({ gaveWayAtMs }) => gaveWayAtMs > 0)
  if (ahead.length === 0) return updated
  const noted = session.send(sql.NOTE_GIVEN_WAY, [
    int4Array(ahead.map(({ id }) => id)),
    int8Array(ahead.map(({ gaveWayAtMs }) => gaveWayAtMs)),
  ])
  return Promise.all([updated, noted])
}

function nextState(
  events: readonly NewEvent[],
  state: SensorState | undefined,
  futureMsMax: number,
) {
  const seenAtMs = events.at(-1)?.receivedAtMs ?? 0
  let gaveWayAtMs = 0
  const later = (latest: Latest, next: Latest): Latest => {
    const atMs = latest.measuredAtMs
    if (!becomesLatest(next.measuredAtMs, atMs, seenAtMs + futureMsMax)) return latest
    if (next.measuredAtMs < atMs) gaveWayAtMs = Math.max(gaveWayAtMs, atMs)
    return next
  }
  const known = {
    measuredAtMs: state?.measuredAtMs ?? NONE.measuredAtMs,
    tempCelsius: state?.tempCelsius ?? NONE.tempCelsius,
    tieBreakNs: state?.tieBreakNs ?? NONE.tieBreakNs,
  }
  const { measuredAtMs, tempCelsius, tieBreakNs } = later(known, events.reduce(later, NONE))
  const spans = Array.from(state?.spans ?? [])
  for (const event of events) cover(spans, event.measuredAtMs)
  const oldestAtMs = events.reduce((least, event) => Math.min(least, event.measuredAtMs), Infinity)
  const times = { measuredAtMs, seenAtMs, oldestAtMs, gaveWayAtMs }
  return { ...times, tempCelsius, tieBreakNs, spans, pending: state?.pending ?? '' }
}

/** Keeps as revisions what the update would overwrite: at most one an hour for each sensor. */
export async function keepHistoryRevisions(
  session: Session,
  events: readonly NewEvent[],
  view: GroupView,
): Promise<void> {
  const named = new Set(events.map(({ sensor }) => sensor.id))
  const ids = [...named].filter((id) => view.states.get(id)?.hasRevision === true)
  if (ids.length === 0) return
  const revisions = revisionStatements(int4Array(ids), events.at(-1)?.receivedAtMs ?? 0)
  await Promise.all(revisions.map(({ text, values }) => session.send(text, values)))
}

/** A sensor's rows that may not be forwarded yet, and the one being written. */
function pendingWith(
  pending: string,
  place: JournalPlace,
  forwarded: readonly JournalPlace[],
): string {
  const isWaiting = ({ stream, seq }: JournalPlace) =>
    stream !== place.stream &&
    !forwarded.some((other) => other.stream === stream && other.seq >= seq)
  return placesText([...placesOf(pending).filter(isWaiting), place])
}

/** Records the next free tie-breaks of times that later measurements may have as well. */
export async function noteTieBreaks(
  session: Session,
  tieBreaks: readonly TieBreak[],
): Promise<void> {
  if (tieBreaks.length === 0) return
  const rows = tieBreaks.map(({ sensor: { id }, atMs, next }) => ({ id, atMs, next }))
  const sorted = rows.toSorted((one, other) => one.id - other.id || one.atMs - other.atMs)
  await session.send(sql.NOTE_TIE_BREAKS, [
    int4Array(sorted.map(({ id }) => id)),
    int8Array(sorted.map(({ atMs }) => atMs)),
    int4Array(sorted.map(({ next }) => next)),
  ])
}

/** Counts accepted measurements by sensor and UTC day. */
export function countDays(session: Session, events: readonly NewEvent[]): Promise<unknown> {
  const days = new Map<string, { id: number; day: number; count: number }>()
  for (const { sensor, measuredAtMs } of events) {
    const day = Math.floor(measuredAtMs / DAY_MS)
    const key = `${sensor.id}@${day}`
    const known = days.get(key)
    if (known === undefined) days.set(key, { id: sensor.id, day, count: 1 })
    else known.count++
  }
  const sorted = [...days.values()].toSorted(
    (one, other) => one.id - other.id || one.day - other.day,
  )
  return session.send(sql.COUNT_DAYS, [
    int4Array(sorted.map(({ id }) => id)),
    int4Array(sorted.map(({ day }) => day)),
    int4Array(sorted.map(({ count }) => count)),
  ])
}

/** Writes the group's row of the journal. */
export function insertRow(
  session: Session,
  { stream, seq }: JournalPlace,
  groupId: string,
  events: readonly NewEvent[],
): Promise<unknown> {
  const entries = encodeEntries(events, ({ sensor }) => sensor.id)
  return session.send(sql.INSERT_ROW, [stream, seq, groupId, events.length, entries])
}
