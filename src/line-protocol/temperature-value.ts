// The number in a temperature's field, which some senders write as text.

import { numberCharactersMax } from '../domain/limits.ts'
import { floatOf } from './point.ts'
import type { Field } from './point.ts'

/** What senders write where there is no value now, in lower case. */
const NOTHING = new Set(['', 'unavailable', 'unknown', 'none', 'null', 'nan'])

/** @returns `null`: there is no value now; `undefined`: it is no number */
export function numberIn(value: Field['value']): number | null | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (text.length > numberCharactersMax) return undefined
  return NOTHING.has(text.toLowerCase()) ? null : floatOf(text)
}
