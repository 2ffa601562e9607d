// The names a statement can use: measurements, fields, tags and functions.

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

export const FUNCTIONS = ['mean', 'min', 'max', 'count', 'sum', 'last'] as const

export const SHOWN = ['DATABASES', 'RETENTION', 'MEASUREMENTS', 'FIELD', 'TAG'] as const

export type Measurement = keyof typeof MEASUREMENTS
export type Tag = (typeof TAGS)[number]
export type Tags = Readonly<Record<Tag, string>>
export type Aggregate = (typeof FUNCTIONS)[number]

export function isMeasurement(name: string): name is Measurement {
  return Object.hasOwn(MEASUREMENTS, name)
}

export function isTag(name: string): name is Tag {
  return TAGS.some((tag) => tag === name)
}
