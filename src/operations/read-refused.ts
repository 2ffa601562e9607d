// Refused entries as measurements: a line by the rules of its day, an element by its schema.

import type { SubmittedMeasurement } from '../domain/measurement.ts'
import { parseInstant } from '../domain/time.ts'
import { decodeText } from '../line-protocol/point.ts'
import { readLines, reasonOf } from '../line-protocol/read-lines.ts'
import { SeriesMemory } from '../line-protocol/series.ts'
import type { RefusedEntry } from '../ports/refused.ts'
import { formFault } from './check-measurement.ts'

/** The names that operators add to those known in line protocol. */
export interface LineNames {
  readonly lineFields: readonly string[]
  readonly lineSerialTags: readonly string[]
}

interface FieldMeasurement extends SubmittedMeasurement {
  /** Of a line: which of its fields. */
  readonly field: number
}

interface Reading {
  readonly measurements: readonly FieldMeasurement[]
  /** Why some of it cannot be read. */
  readonly reason?: string
}

const NO_TEMPERATURE = 'no temperature'

async function letOthers(): Promise<void> {}

/** The content of an entry, for people. */
export function textOf({ kind, content }: Pick<RefusedEntry, 'kind' | 'content'>): string {
  return kind === 'element' ? content : decodeText(content)
}

/** What was refused of the content of an entry, read as when it arrived. */
export async function readRefused(entry: RefusedEntry, names: LineNames): Promise<Reading> {
  if (entry.kind === 'element') return readRefusedElement(entry.content)
  // What is missing may have been other measurements, or have named another sensor.
  if (entry.kind === 'cut-line') return { measurements: [], reason: entry.reason }
  const series = new SeriesMemory({
    fields: new Set(names.lineFields.map((name) => name.toLowerCase())),
    serialTags: names.lineSerialTags,
    serialNumberPrefix: entry.serialNumberPrefix,
  })
  const rules = { series, unitNs: BigInt(entry.unitNs) }
  const { fields } = entry
  const measurements: FieldMeasurement[] = []
  let reason: string | undefined
  for await (const part of await readLines(
    Buffer.from(entry.content, 'latin1'),
    rules,
    letOthers,
  )) {
    for (const { field, measurement } of [...part.keyed, ...part.unkeyed]) {
      // Those that were not refused are stored.
      if (fields?.includes(field) !== false) measurements.push({ ...measurement, field })
    }
    const refused = part.refused.find((each) => isOf(fields, each.fields))
    if (refused !== undefined) reason ??= reasonOf(refused)
    if (part.skipped.length > 0) reason ??= NO_TEMPERATURE
  }
  // The names of fields may have been others then.
  if (fields !== null && measurements.length < fields.length) reason ??= NO_TEMPERATURE
  return { measurements, ...(reason !== undefined && { reason }) }
}

function isOf(fields: readonly number[] | null, refused: readonly number[] | null): boolean {
  return fields === null || refused === null || refused.some((field) => fields.includes(field))
}

function readRefusedElement(content: string): Reading {
  const element = JSON.parse(content) as Readonly<Record<string, unknown>> | null
  const { event_id: eventId = null, sn, temp, timestamp } = element ?? {}
  const text = typeof timestamp === 'string' ? timestamp : ''
  const measuredAtMs = timestamp === undefined ? 0 : parseInstant(text)
  const reason = formFault({ eventId, serialNumber: sn, tempCelsius: temp, measuredAtMs })
  if (reason !== undefined) return { measurements: [], reason }
  const measurement = { eventId, serialNumber: sn, tempCelsius: temp } as SubmittedMeasurement
  const time = timestamp === undefined ? null : measuredAtMs
  return { measurements: [{ ...measurement, measuredAtMs: time ?? null, field: 0 }] }
}
