// Whether a database has what a DATA_DIR has: the rows of every table, and the measurements of
// every sensor and day, counted on both sides.

import { formatDay } from '../domain/finding.ts'
import { DAY_MS } from '../domain/time.ts'

interface CountedDay {
  readonly sensorId: number
  readonly day: number
  readonly measurements: number
}

export interface Sides {
  readonly source: {
    readonly tables: readonly { readonly name: string; total(): number }[]
    /** By sensor, then day. */
    countDays(): Iterable<CountedDay>
  }
  readonly target: {
    countRows(table: string): Promise<number>
    countDays(): AsyncIterable<CountedDay>
  }
  /** Told of measurements that were compared. */
  readonly advance: (measurements: number) => void
}

/** Further ones are not named. */
const NAMED_MAX = 20

/** @returns what differs, for an operator */
export async function compareSides({ source, target, advance }: Sides): Promise<readonly string[]> {
  const differences: string[] = []
  const note = (difference: string) => {
    if (differences.length < NAMED_MAX) differences.push(difference)
  }
  for (const table of source.tables) {
    const [total, found] = [table.total(), await target.countRows(table.name)]
    if (found !== total) note(`${table.name}: ${total} rows here, ${found} in the database`)
  }
  const here = source.countDays()[Symbol.iterator]()
  try {
    const there = target.countDays()[Symbol.asyncIterator]()
    let one = dayIn(here.next())
    let other = dayIn(await there.next())
    while (one !== undefined || other !== undefined) {
      const order = compareDays(one, other)
      if (order !== 0 || one?.measurements !== other?.measurements) {
        note(describe(order <= 0 ? one : undefined, order >= 0 ? other : undefined))
      }
      advance(order <= 0 ? (one?.measurements ?? 0) : 0)
      if (order <= 0) one = dayIn(here.next())
      if (order >= 0) other = dayIn(await there.next())
    }
    return differences
  } finally {
    // Where the target fails; an open statement would keep the source open.
    here.return?.()
  }
}

function dayIn(result: IteratorResult<CountedDay>): CountedDay | undefined {
  return result.done === true ? undefined : result.value
}

/** Nothing comes after everything. */
function compareDays(one: CountedDay | undefined, other: CountedDay | undefined): number {
  if (one === undefined || other === undefined) return one === undefined ? 1 : -1
  return one.sensorId - other.sensorId || one.day - other.day
}

function describe(here: CountedDay | undefined, there: CountedDay | undefined): string {
  const { sensorId = 0, day = 0 } = here ?? there ?? {}
  const counts = `${here?.measurements ?? 0} here, ${there?.measurements ?? 0} in the database`
  return `sensor ${sensorId}, ${formatDay(day * DAY_MS)}: ${counts}`
}
