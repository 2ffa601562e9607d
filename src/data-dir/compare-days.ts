// Whether both sides of a move have the same measurements: counted by sensor and UTC day, on each
// of them.

import { formatDay } from '../domain/finding.ts'
import { DAY_MS } from '../domain/time.ts'
import type { CountedDay, MovedTable } from '../ports/moved-data.ts'
import type { WorkProgress } from '../ports/system.ts'

export interface Sides {
  readonly source: {
    readonly measurements: Pick<MovedTable, 'total'>
    /** By sensor, then day. */
    countDays(): Iterable<CountedDay>
  }
  readonly target: {
    /** What differences call it. */
    readonly name: string
    /** By sensor, then day. */
    countDays(): AsyncIterable<CountedDay>
  }
}

/** Further ones are only counted. */
const NAMED_MAX = 20

/** @returns what differs, for an operator */
export async function compareMovedDays(
  { source, target }: Sides,
  progress: WorkProgress,
): Promise<readonly string[]> {
  progress.begin('comparing', source.measurements.total(), 'measurement')
  const named: string[] = []
  let differing = 0
  for await (const { here, there } of bothSides(source.countDays(), target.countDays())) {
    progress.advance(here?.measurements ?? 0)
    if (here?.measurements === there?.measurements) continue
    if (++differing <= NAMED_MAX) named.push(describe(here, there, target.name))
  }
  return differing > NAMED_MAX ? [...named, `and ${differing - NAMED_MAX} more`] : named
}

interface BothSides {
  readonly here: CountedDay | undefined
  readonly there: CountedDay | undefined
}

async function* bothSides(
  source: Iterable<CountedDay>,
  target: AsyncIterable<CountedDay>,
): AsyncGenerator<BothSides> {
  const sourceDays = source[Symbol.iterator]()
  const targetDays = target[Symbol.asyncIterator]()
  try {
    let here = dayIn(sourceDays.next())
    let there = dayIn(await targetDays.next())
    while (here !== undefined || there !== undefined) {
      const order = compare(here, there)
      yield { here: order <= 0 ? here : undefined, there: order >= 0 ? there : undefined }
      if (order <= 0) here = dayIn(sourceDays.next())
      if (order >= 0) there = dayIn(await targetDays.next())
    }
  } finally {
    // Where the target fails; an open statement would keep the source open.
    sourceDays.return?.()
  }
}

function dayIn(result: IteratorResult<CountedDay>): CountedDay | undefined {
  return result.done === true ? undefined : result.value
}

/** Nothing comes after everything. */
function compare(one: CountedDay | undefined, other: CountedDay | undefined): number {
  if (one === undefined || other === undefined) return one === undefined ? 1 : -1
  return one.sensorId - other.sensorId || one.day - other.day
}

function describe(
  here: CountedDay | undefined,
  there: CountedDay | undefined,
  target: string,
): string {
  const { sensorId = 0, day = 0 } = here ?? there ?? {}
  const counts = `${here?.measurements ?? 0} here, ${there?.measurements ?? 0} in ${target}`
  return `sensor ${sensorId}, ${formatDay(day * DAY_MS)}: ${counts}`
}
