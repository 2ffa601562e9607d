// Retries refused entries: they are read as when they arrived, and committed like all submissions.
// An entry is deleted when all of it is stored. Event ids make a second retry harmless:
// measurements without one get it from the entry, whose id is never reused, from when it arrived,
// because another arrival is another measurement, and from their field.

import type { RequestFault } from '../domain/errors.ts'
import type { SubmittedMeasurement } from '../domain/measurement.ts'
import { commitLines } from '../ingest/commit-lines.ts'
import type { Submissions } from '../ingest/submissions.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { RefusedEntry, RefusedListing, RefusedRetry } from '../ports/refused.ts'
import type { Clock } from '../ports/system.ts'
import type { ListedSkipped, Listing, RefusedList, RetriedCount } from './operations.ts'
import { readRefused, textOf } from './read-refused.ts'
import type { LineNames } from './read-refused.ts'

export interface RefusedCollaborators {
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly submissions: Pick<Submissions, 'commit'>
  readonly clock: Clock
}

/** Entries retried at a time: one group commits them together. */
const TRIED_AT_ONCE = 100

const CONFLICT = 'its event id was accepted before with other content, which is kept'

/** Refused entries that can be read. */
export async function listRefused(
  control: ControlReader,
  listing: RefusedListing,
): Promise<RefusedList> {
  const entries = await control.listRefused(listing)
  const readable = entries.map((entry) => ({ ...entry, content: textOf(entry) }))
  return { ...(await control.countRefused(listing.userId)), entries: readable }
}

/** Which series have no temperature, readable. */
export async function listSkipped(
  control: ControlReader,
  { userId, limit }: Pick<RefusedListing, 'userId' | 'limit'>,
): Promise<Listing<ListedSkipped>> {
  const skipped = await control.listSkipped(limit, userId)
  const entries = skipped.map((series) => ({
    ...series,
    line: textOf({ kind: 'line', content: series.line }),
  }))
  return { count: await control.countSkipped(userId), entries }
}

/**
 * Retries entries.
 *
 * @param ids `undefined`: all
 */
export async function retryRefused(
  collaborators: RefusedCollaborators,
  names: LineNames,
  ids: readonly number[] | undefined,
): Promise<RetriedCount> {
  const { control } = collaborators
  const wanted = ids && new Set(ids)
  let count = 0
  let refusedAgain = 0
  const listing = { isOldestFirst: true, limit: TRIED_AT_ONCE }
  for (let part = await control.listRefused(listing); part.length > 0;) {
    const chosen = part.filter(({ id }) => wanted === undefined || wanted.has(id))
    const retried = await retryAll(collaborators, names, chosen)
    count += retried.count
    refusedAgain += retried.refusedAgain
    part = await control.listRefused({ ...listing, afterId: part.at(-1)?.id ?? 0 })
  }
  return { count, refusedAgain }
}

/** Retries the entries whose time has come. @returns how many are stored */
export async function retryDueRefused(
  collaborators: RefusedCollaborators,
  names: LineNames,
): Promise<number> {
  const due = await collaborators.control.listDueRefused(collaborators.clock.nowMs(), TRIED_AT_ONCE)
  return (await retryAll(collaborators, names, due)).count
}

async function retryAll(
  collaborators: RefusedCollaborators,
  names: LineNames,
  entries: readonly RefusedEntry[],
): Promise<RetriedCount> {
  if (entries.length === 0) return { count: 0, refusedAgain: 0 }
  const retries = await Promise.all(entries.map((entry) => retry(collaborators, names, entry)))
  const refusedAgain = retries.filter(({ reason }) => reason !== undefined).length
  return { count: await collaborators.controlWriter.noteRefusedRetries(retries), refusedAgain }
}

async function retry(
  { submissions, clock }: RefusedCollaborators,
  names: LineNames,
  entry: RefusedEntry,
): Promise<RefusedRetry> {
  const { id, count, receivedAtMs, userId } = entry
  const read = await readRefused(entry, names)
  const measurements = read.measurements.map(({ field, ...measurement }) => ({
    ...measurement,
    eventId: measurement.eventId ?? `refused:${id}:${receivedAtMs}:${field}`,
    measuredAtMs: measurement.measuredAtMs ?? receivedAtMs,
  }))
  const nowMs = clock.nowMs()
  const faults: RequestFault[] = []
  const commit = (submitted: readonly SubmittedMeasurement[]) =>
    commitLines(
      submissions,
      { userId, receivedAtMs: nowMs, measurements: submitted },
      async (found) => void faults.push(...found),
    )
  let { conflicts } = await commit(measurements)
  // A repeat without a time matches any time that its event id was accepted with.
  const repeated = read.measurements.filter(({ eventId }) => eventId !== null)
  if (conflicts > 0 && repeated.length > 0) conflicts = (await commit(repeated)).conflicts
  const reason = read.reason ?? faults[0]?.detail ?? (conflicts > 0 ? CONFLICT : undefined)
  // What is refused when its time has come, or for another reason, waits for an operator.
  const isEarly = faults.some(({ code }) => code === 'timestamp_in_future')
  const isAhead = isEarly && (entry.retryAtMs ?? 0) > nowMs
  return { id, count, reason, retryAtMs: isAhead ? entry.retryAtMs : null }
}
