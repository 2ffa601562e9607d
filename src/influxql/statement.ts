// Statements after parsing.

import type { Selector } from '../domain/history.ts'
import type { TimeRange } from '../domain/time.ts'
import type { Condition } from './condition.ts'
import { isSelector } from './vocabulary.ts'
import type { Aggregate } from './vocabulary.ts'

export interface Column {
  /** The column's heading. */
  readonly name: string
  readonly field: string
  /** `undefined`: the values themselves. */
  readonly aggregate: Aggregate | undefined
  /** Of how many windows with measurements the aggregates are averaged. */
  readonly movingWindows: number | undefined
  /** Arithmetic on each value. */
  readonly compute: (value: number) => number
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
  /** Whether the range begins a day before its end because the statement has no lower bound. */
  readonly isLastDay: boolean
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
  /** When a sensor of `temperature` must have been measured; `undefined`: ever or never. */
  readonly range: TimeRange | undefined
  readonly limit: number | undefined
}

export type Statement = Select | Show | ShowTagValues

/** The function if it is the only column, without windows, and chooses one measurement. */
export function selectorOf({
  columns,
  windowMs,
}: Pick<Select, 'columns' | 'windowMs'>): Selector | undefined {
  const [column, ...others] = columns
  const isAlone = others.length === 0 && windowMs === undefined
  const aggregate = column?.aggregate
  return isAlone && aggregate !== undefined && isSelector(aggregate) ? aggregate : undefined
}
