// Compares the summaries of a store of our own with its measurements.

import type { Report } from '../../domain/finding.ts'
import { DAY_MS, EVER, floorToWindow, formatInstant } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'

/** How many windows are named per sensor. */
const NAMED_MAX = 20

interface WrongSummary {
  readonly table: string
  readonly startMs: number
  readonly measurements: number
  readonly summarised: number
}

interface CheckedSummaries {
  readonly measurements: number
  readonly wrong: readonly WrongSummary[]
}

export interface SummariesCollaborators {
  readonly control: { isLive(sensorId: number): Promise<boolean> }
  readonly store: {
    /** Its name in findings. */
    readonly name: string
    sensorIds(): Promise<ReadonlySet<number>>
    /** Checks a few days at a time. */
    checkSummaries(
      sensorId: number,
      range: TimeRange,
    ): Iterable<CheckedSummaries> | AsyncIterable<CheckedSummaries>
  }
  readonly report: Report
  /** Reports how many more measurements have been summed up. */
  readonly advance: (measurements: number) => void
  /** Gives others a turn. */
  readonly rest: () => Promise<unknown>
}

export async function verifySummaries(collaborators: SummariesCollaborators): Promise<void> {
  const { control, store, report, advance, rest } = collaborators
  for (const sensorId of await store.sensorIds()) {
    const wrong: WrongSummary[] = []
    for await (const part of store.checkSummaries(sensorId, EVER)) {
      wrong.push(...part.wrong.slice(0, NAMED_MAX - wrong.length))
      advance(part.measurements)
      await rest()
    }
    // A deleted sensor's rows disappear table by table.
    if (!(await control.isLive(sensorId))) continue
    for (const { table, startMs, measurements, summarised } of wrong) {
      const time = formatInstant(startMs)
      const counts = `${measurements} measurements, ${summarised} in the summary`
      const what = measurements === summarised ? 'the temperatures differ' : counts
      report({
        check: 'summaries',
        where: store.name,
        sensorId,
        dayMs: floorToWindow(startMs, DAY_MS),
        problem: `${table} is wrong at ${time}: ${what}`,
        remedy:
          'Histories by bucket are wrong there, raw ones are right: restore the last backup, or ' +
          'export and import into a new DATA_DIR, which makes summaries anew.',
      })
    }
  }
}
