// Retries refused entries: they are read as when they arrived, and committed like all submissions.
// An entry is deleted when all of it is stored. Event ids make a second retry harmless:
// measurements without one get it from the entry, whose id is never reused, from when it arrived,
// because another arrival is another measurement, and from their field.

import { HOUR_MS } from '../domain/time.ts'
import { submitLines } from '../ingest/submit-lines.ts'
import type { Submissions } from '../ingest/submissions.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type {
  AheadRefused,
  RefusedEntry,
  RefusedListing,
  RefusedRetry,
  SkippedEntry,
} from '../ports/refused.ts'
import type { Clock } from '../ports/system.ts'
import { readRefused, textOf } from './read-refused.ts'
import type { LineNames } from './read-refused.ts'
import { findLocalTimes } from './local-times.ts'

export interface RefusedCollaborators {
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly submissions: Pick<Submissions, 'submit'>
  readonly clock: Clock
}

/** The rest is counted but not listed. */
interface Listing<Entry> {
  readonly count: number
  readonly entries: readonly Entry[]
}

interface RefusedList extends Listing<RefusedEntry> {
  /** How many were dropped to make room for newer ones. */
  readonly dropped: number
}

interface RetriedCount {
  /** How many are stored. */
  readonly count: number
  readonly refusedAgain: number
}

/** Entries retried at a time: one group commits them together. */
const RETRIED_AT_ONCE = 100

/** As JSON, six times as much where they are control characters: memory has room for that. */
const LISTED_CHARACTERS_MAX = 4 * 2 ** 20
const READ_AT_ONCE = 100

/** A reason may quote what was sent. */
const REASON_CHARACTERS_MAX = 200

const CONFLICT = 'its event id was accepted before with other content, which is kept'

/** What became of entries, one for another. */
interface Retried extends RetriedCount {
  /** Why some could not be decided now, such as `overloaded`; they stay as they are. */
  readonly failures: readonly unknown[]
}

/** Refused entries, `content` readable: fewer than asked for where these are large. */
export async function listRefused(
  control: ControlReader,
  listing: RefusedListing,
): Promise<RefusedList> {
  const entries: RefusedEntry[] = []
  let characters = 0
  let part: readonly RefusedEntry[]
  do {
    const limit = Math.min(READ_AT_ONCE, listing.limit - entries.length)
    const afterId = entries.at(-1)?.id
    part = await control.listRefused({
      ...listing,
      limit,
      ...(afterId !== undefined && { afterId }),
    })
    for (const entry of part) {
      if (characters >= LISTED_CHARACTERS_MAX) break
      const readable = { ...entry, content: textOf(entry) }
      characters += readable.content.length
      entries.push(readable)
    }
  } while (
    part.length === READ_AT_ONCE &&
    entries.length < listing.limit &&
    characters < LISTED_CHARACTERS_MAX
  )
  return { ...(await control.countRefused(listing.userId)), entries: named(entries) }
}

/** Says in the reason where it is local time that was sent as UTC. */
function named(entries: readonly RefusedEntry[]): readonly RefusedEntry[] {
  const localTimes = findLocalTimes(entries)
  return entries.map((entry) => {
    const aheadMs = localTimes.get(entry)
    if (aheadMs === undefined) return entry
    const hours = `${aheadMs / HOUR_MS} hours`
    return { ...entry, reason: `${entry.reason}: local time sent as UTC, always ${hours} ahead` }
  })
}

/** Series without a temperature, `line` readable: fewer than asked for where these are large. */
export async function listSkipped(
  control: ControlReader,
  { userId, limit }: Pick<RefusedListing, 'userId' | 'limit'>,
): Promise<Listing<SkippedEntry>> {
  const entries: SkippedEntry[] = []
  let characters = 0
  for (const series of await control.listSkipped(limit, userId)) {
    const line = textOf({ kind: 'line', content: series.line })
    characters += line.length
    if (characters > LISTED_CHARACTERS_MAX) break
    entries.push({ ...series, line })
  }
  return { count: await control.countSkipped(userId), entries }
}

/**
 * Retries entries, none that first arrives meanwhile.
 *
 * @param ids `undefined`: all
 * @throws why some could not be decided now; the others are retried
 */
export async function retryRefused(
  collaborators: RefusedCollaborators,
  names: LineNames,
  ids: readonly number[] | undefined,
): Promise<RetriedCount> {
  return retryParts(collaborators, names, partsOfNow(collaborators.control, ids && new Set(ids)))
}

/** 0: there is none. */
export async function newestRefusedId(control: ControlReader): Promise<number> {
  const [newest] = await control.listRefused({ isOldestFirst: false, limit: 1 })
  return newest?.id ?? 0
}

/** Of these, the entries that are there now, the oldest first. */
async function* partsOfNow(
  control: ControlReader,
  wanted: ReadonlySet<number> | undefined,
): AsyncGenerator<readonly RefusedEntry[], undefined> {
  const lastId = await newestRefusedId(control)
  for (let afterId = 0; afterId < lastId;) {
    const listing = { isOldestFirst: true, afterId, limit: RETRIED_AT_ONCE }
    const part = await control.listRefused(listing)
    yield part.filter(({ id }) => id <= lastId && wanted?.has(id) !== false)
    afterId = part.at(-1)?.id ?? lastId
  }
}

/**
 * Retries what was refused as ahead.
 *
 * @throws why some could not be decided now; the others are retried
 */
export async function retryAhead(
  collaborators: RefusedCollaborators,
  names: LineNames,
  ahead: AheadRefused,
): Promise<RetriedCount> {
  return retryParts(collaborators, names, partsAhead(collaborators.control, ahead))
}

async function* partsAhead(
  control: ControlReader,
  ahead: AheadRefused,
): AsyncGenerator<readonly RefusedEntry[], undefined> {
  for (let { afterId } = ahead; ;) {
    const part = await control.listAheadRefused({ ...ahead, afterId }, RETRIED_AT_ONCE)
    if (part.length === 0) return
    yield part
    afterId = part.at(-1)?.id ?? afterId
  }
}

async function retryParts(
  collaborators: RefusedCollaborators,
  names: LineNames,
  parts: AsyncIterable<readonly RefusedEntry[]>,
): Promise<RetriedCount> {
  let count = 0
  let refusedAgain = 0
  const failures: unknown[] = []
  for await (const part of parts) {
    const retried = await retryAll(collaborators, names, part)
    count += retried.count
    refusedAgain += retried.refusedAgain
    failures.push(...retried.failures)
  }
  if (failures.length > 0) throw failures[0]
  return { count, refusedAgain }
}

async function retryAll(
  collaborators: RefusedCollaborators,
  names: LineNames,
  entries: readonly RefusedEntry[],
): Promise<Retried> {
  const failures: unknown[] = []
  const attempt = async (entry: RefusedEntry): Promise<readonly RefusedRetry[]> => {
    try {
      return [await retry(collaborators, names, entry)]
    } catch (error) {
      // It may be its own, or its user's: it must not keep others from being stored.
      failures.push(error)
      return []
    }
  }
  const retries = (await Promise.all(entries.map(attempt))).flat()
  const refusedAgain = retries.filter(({ reason }) => reason !== undefined).length
  const count = await collaborators.controlWriter.noteRefusedRetries(retries)
  return { count, refusedAgain, failures }
}

async function retry(
  { submissions, clock }: RefusedCollaborators,
  names: LineNames,
  entry: RefusedEntry,
): Promise<RefusedRetry> {
  const { id, count, receivedAtMs, userId } = entry
  const read = await readRefused(entry, names)
  const known = read.measurements.map(({ field, ...measurement }) => ({
    ...measurement,
    eventId: measurement.eventId ?? `refused:${id}:${receivedAtMs}:${field}`,
    measuredAtMs: measurement.measuredAtMs ?? receivedAtMs,
  }))
  // A repeat without a time matches any time that its event id was accepted with.
  const repeated = read.measurements.filter(({ eventId }) => eventId !== null)
  const nowMs = clock.nowMs()
  let fault: string | undefined
  let conflicts = 0
  for (const measurements of repeated.length > 0 ? [known, repeated] : [known]) {
    const submission = { userId, receivedAtMs: nowMs, measurements }
    const receipt = await submitLines(submissions, submission, async ([first]) => {
      fault ??= first?.detail
    })
    conflicts = receipt.conflicts
    if (conflicts === 0) break
  }
  const reason = read.reason ?? fault ?? (conflicts > 0 ? CONFLICT : undefined)
  return { id, count, reason: reason?.slice(0, REASON_CHARACTERS_MAX) }
}
