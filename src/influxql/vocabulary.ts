// The names a statement can use: measurements, fields, tags and functions.

import type { Selector } from '../domain/history.ts'

/** Measurements with their fields and InfluxDB's types of these, in InfluxDB's order. */
export const MEASUREMENTS = {
  sensor: {
    compensation: 'float',
    online: 'integer',
    silence: 'float',
    temp: 'float',
    unreadable: 'integer',
  },
  temperature: { raw: 'float', temp: 'float' },
} as const

export const TAGS = ['alias', 'choice', 'name', 'sensor_id', 'sn'] as const

const SELECTORS: readonly Selector[] = ['first', 'last', 'min', 'max']

export const FUNCTIONS = ['mean', 'count', 'sum', 'spread', ...SELECTORS] as const

export const MOVING_AVERAGE = 'moving_average'

export const SHOWN = ['DATABASES', 'RETENTION', 'MEASUREMENTS', 'FIELD', 'TAG'] as const

export type Measurement = keyof typeof MEASUREMENTS
export type Tag = (typeof TAGS)[number]
export type Tags = Readonly<Record<Tag, string>>
export type Aggregate = (typeof FUNCTIONS)[number]

export function isMeasurement(name: string): name is Measurement {
  return Object.hasOwn(MEASUREMENTS, name)
}

export function isSelector(aggregate: Aggregate): aggregate is Selector {
  return SELECTORS.some((selector) => selector === aggregate)
}

export function isTag(name: string): name is Tag {
  return TAGS.some((tag) => tag === name)
}
