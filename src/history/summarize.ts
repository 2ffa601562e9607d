// Single measurements as summaries, for windows that no store has.

import type { RawPoint, WindowSummary } from '../domain/history.ts'

/** One summary per measurement, which starts at it. */
export async function* summarize(
  chunks: AsyncIterable<readonly RawPoint[]>,
): AsyncIterable<readonly WindowSummary[]> {
  for await (const chunk of chunks) {
    yield chunk.map(({ measuredAtMs: startMs, rawCelsius: celsius }) => ({
      startMs,
      count: 1,
      sum: celsius,
      min: celsius,
      max: celsius,
    }))
  }
}
