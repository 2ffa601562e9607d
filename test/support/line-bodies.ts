// Bodies of line protocol, read.

import { readLines } from '../../src/line-protocol/read-lines.ts'
import type { LinePart } from '../../src/line-protocol/read-lines.ts'
import { SeriesMemory } from '../../src/line-protocol/series.ts'
import type { SeriesRules } from '../../src/line-protocol/series.ts'

const RULES: SeriesRules = { fields: new Set(), serialTags: [], serialNumberPrefix: '' }

export type LineBody = Omit<LinePart, 'isLast'>

export interface Reading extends Partial<SeriesRules> {
  readonly unitNs?: bigint
  readonly letOthers?: () => Promise<void>
}

export async function readParts(
  body: string | Buffer,
  { unitNs = 1n, letOthers = async () => undefined, ...rules }: Reading = {},
): Promise<LinePart[]> {
  const series = new SeriesMemory({ ...RULES, ...rules })
  const parts: LinePart[] = []
  for await (const part of await readLines(Buffer.from(body), { series, unitNs }, letOthers)) {
    parts.push(part)
  }
  return parts
}

export async function read(body: string | Buffer, reading: Reading = {}): Promise<LineBody> {
  const parts = await readParts(body, reading)
  return {
    keyed: parts.flatMap(({ keyed }) => keyed),
    unkeyed: parts.flatMap(({ unkeyed }) => unkeyed),
    refused: parts.flatMap(({ refused }) => refused),
    skipped: parts.flatMap(({ skipped }) => skipped),
    lineCount: parts.reduce((sum, { lineCount }) => sum + lineCount, 0),
  }
}
