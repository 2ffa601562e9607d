// Holding what a store has of a sensor against what control.db says of it, while measurements may
// be on their way. The account is read before the store and again after it:
//   - what was forwarded before is in the store: accepted, less pending, less set aside, at least
//   - what was accepted until after it can be in the store: accepted less set aside, at most
// Where both are the same number the store has to have just that; in between it may be right, and
// only a look at a quieter moment can tell.

import type { RawPoint } from '../../domain/history.ts'
import type { SensorAccount } from '../../domain/sensor-account.ts'

/** A sensor's account around one look at the store. */
export interface Looked {
  readonly before: SensorAccount
  readonly after: SensorAccount
}

/** What is wrong with a day, with the numbers that were expected and found. */
export interface WrongDay {
  readonly dayMs: number
  readonly kind: 'missing' | 'surplus'
  readonly expected: number
  readonly found: number
}

export interface ComparedDays {
  readonly wrong: readonly WrongDay[]
  /** Right or wrong, this look cannot tell. */
  readonly moving: readonly number[]
}

/**
 * @param stored measurements by day in the store
 * @param isMeant the days that were looked at
 */
export function compareDays(
  { before, after }: Looked,
  stored: ReadonlyMap<number, number>,
  isMeant: (dayMs: number) => boolean,
): ComparedDays {
  const wrong: WrongDay[] = []
  const moving: number[] = []
  const days = new Set([...before.accepted.keys(), ...after.accepted.keys(), ...stored.keys()])
  for (const dayMs of [...days].filter(isMeant).sort((a, b) => a - b)) {
    const found = stored.get(dayMs) ?? 0
    const least = forwardedOn(before, dayMs)
    const most = acceptedOn(after, dayMs)
    if (found < least) wrong.push({ dayMs, kind: 'missing', expected: least, found })
    else if (found > most) wrong.push({ dayMs, kind: 'surplus', expected: most, found })
    else if (least !== most) moving.push(dayMs)
  }
  return { wrong, moving }
}

function acceptedOn({ accepted, setAside }: SensorAccount, dayMs: number): number {
  return (accepted.get(dayMs) ?? 0) - (setAside.perDay.get(dayMs) ?? 0)
}

function forwardedOn(account: SensorAccount, dayMs: number): number {
  return acceptedOn(account, dayMs) - (account.pending.perDay.get(dayMs) ?? 0)
}

/** What a store has of a sensor from the time of its latest value on. */
export interface NewestStored {
  /** The one accepted last of those at that time. */
  readonly atLatest: RawPoint | undefined
  /** One that is later than the latest value. */
  readonly later: RawPoint | undefined
}

export type ComparedLatest = 'right' | 'moving' | { readonly wrong: string }

/**
 * Holds the latest value against the newest measurement.
 *
 * @param mayHaveDropped whether a measurement may have been given up after it was accepted
 * @returns `moving` when this look cannot tell
 */
export function compareLatest(
  { before, after }: Looked,
  stored: NewestStored,
  mayHaveDropped: boolean,
): ComparedLatest {
  const { latest } = before
  if (!isSame(latest, after.latest)) return 'moving'
  const hasAny = before.accepted.values().some((count) => count > 0)
  if (latest === undefined) {
    return hasAny ? { wrong: 'measurements were accepted, but there is no latest value' } : 'right'
  }
  const outstanding = [before.pending.newest, before.setAside.newest]
  const isLater = [stored.later, ...outstanding].some(
    (point) => point !== undefined && point.measuredAtMs > latest.measuredAtMs,
  )
  if (isLater) return { wrong: 'there is a measurement later than the latest value' }
  const atLatest = [stored.atLatest, ...outstanding].filter(
    (point) => point?.measuredAtMs === latest.measuredAtMs,
  )
  if (atLatest.length === 0 && !mayHaveDropped) {
    return { wrong: 'no measurement is of the time of the latest value' }
  }
  const isOne = atLatest.length === 0 || atLatest.some((point) => isSame(point, latest))
  if (isOne) return 'right'
  return { wrong: 'the latest value is not the temperature of the latest measurement' }
}

function isSame(a: RawPoint | undefined, b: RawPoint | undefined): boolean {
  return a?.measuredAtMs === b?.measuredAtMs && a?.rawCelsius === b?.rawCelsius
}
