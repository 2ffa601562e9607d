// Compares what a store has of a sensor with what the control data say, while measurements may be
// on their way. The account is read before the store and again after it:
// - everything forwarded before is in the store: at least accepted − pending − set aside
// - everything accepted in the meantime may be there too: at most accepted − set aside
// If both numbers are equal, the store must have exactly that many. Anything in between may be
// right: only another look at a quieter moment can tell.

import type { RawPoint } from '../../domain/history.ts'
import type { LatestEvidence, SensorAccount } from '../../domain/sensor-account.ts'

/** A sensor's account before and after a look at the store. */
export interface Looked {
  readonly before: SensorAccount
  readonly after: SensorAccount
}

/** What is wrong with a day, with the expected and the actual number. */
export interface WrongDay {
  readonly dayMs: number
  readonly kind: 'missing' | 'surplus'
  readonly expected: number
  readonly found: number
}

export interface ComparedDays {
  readonly wrong: readonly WrongDay[]
  /** This look cannot tell whether the day is right. */
  readonly moving: readonly number[]
}

/**
 * @param stored measurements in the store, by day
 * @param isMeant whether a day was looked at
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

export type ComparedLatest = 'right' | 'moving' | { readonly wrong: string }

/**
 * Compares the latest value with the newest measurement.
 *
 * @param mayHaveDropped whether a measurement may have been dropped after it was accepted
 * @returns `moving` if this look cannot tell
 */
export function compareLatest(
  { before, after }: Looked,
  stored: LatestEvidence,
  mayHaveDropped: boolean,
): ComparedLatest {
  const { latest } = before
  if (!isSame(latest, after.latest)) return 'moving'
  const hasAny = before.accepted.values().some((count) => count > 0)
  if (latest === undefined) {
    return hasAny ? { wrong: 'measurements were accepted, but there is no latest value' } : 'right'
  }
  const all = [stored, before.pending, before.setAside]
  if (all.some(({ later }) => later !== undefined)) {
    return { wrong: 'there is a measurement later than the latest value' }
  }
  const atLatest = all.map((one) => one.atLatest).filter((point) => point !== undefined)
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
