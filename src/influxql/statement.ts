// A statement after parsing.

import type { TimeRange } from '../domain/time.ts'
import type { Condition } from './condition.ts'
import type { Aggregate } from './vocabulary.ts'

export interface Column {
  /** The column's heading. */
  readonly name: string
  readonly field: string
  /** `undefined`: the values themselves. */
  readonly aggregate: Aggregate | undefined
}

/** Replaces the value of an empty window. */
export type Fill = 'null' | 'none' | 'previous' | number

/** Limits are `undefined` if there are none. */
export interface Select {
  readonly kind: 'select'
  readonly measurement: string
  readonly columns: readonly Column[]
  readonly where: Condition
  readonly range: TimeRange
  /** `undefined`: the whole range is one window. */
  readonly windowMs: number | undefined
  /** As requested, in alphabetical order; may include unknown tags. */
  readonly tags: readonly string[]
  readonly fill: Fill
  readonly isDescending: boolean
  readonly limit: number | undefined
  readonly seriesLimit: number | undefined
  readonly timeZone: string
}

export interface Show {
  readonly kind: 'databases' | 'retention policies' | 'measurements' | 'field keys' | 'tag keys'
  /** `undefined`: all. */
  readonly measurement: string | undefined
  /** Whether a measurement is shown. */
  readonly isMeant: (measurement: string) => boolean
  readonly limit: number | undefined
}

export interface ShowTagValues {
  readonly kind: 'tag values'
  readonly measurement: string | undefined
  readonly keys: readonly string[]
  readonly where: Condition
  readonly limit: number | undefined
}

export type Statement = Select | Show | ShowTagValues
