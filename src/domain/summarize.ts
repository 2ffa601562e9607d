// Single measurements as summaries, for windows that no store has.

import type { StoredPoint, WindowSummary } from './history.ts'

/** The summary of a measurement, which starts at it. */
export function summaryOf({
  sensorId,
  measuredAtMs: startMs,
  rawCelsius: celsius,
}: StoredPoint): WindowSummary {
  return { sensorId, startMs, count: 1, sum: celsius, min: celsius, max: celsius }
}

export async function* summarize(
  chunks: AsyncIterable<readonly StoredPoint[]>,
): AsyncIterable<readonly WindowSummary[]> {
  for await (const chunk of chunks) yield chunk.map(summaryOf)
}
