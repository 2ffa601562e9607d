// Retries refused entries: they are read as when they arrived, and committed like all submissions.
// An entry is deleted when all of it is stored. Event ids make a second retry harmless:
// measurements without one get it from the entry, whose id is never reused.

import type { RequestFault } from '../domain/errors.ts'
import { commitLines } from '../ingest/commit-lines.ts'
import type { Submissions } from '../ingest/submissions.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { RefusedEntry } from '../ports/refused.ts'
import type { Clock } from '../ports/system.ts'
import { refusedListedMax, skippedListedMax } from './operations.ts'
import type { ListedSkipped, RefusedList } from './operations.ts'
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

/** A refused entry that can be read. */
export async function listRefused(control: ControlReader): Promise<RefusedList> {
  const entries = await control.listRefused(0, refusedListedMax)
  const readable = entries.map((entry) => ({ ...entry, content: textOf(entry) }))
  return { ...(await control.countRefused()), entries: readable }
}

/** Which series have no temperature, readable. */
export async function listSkipped(control: ControlReader): Promise<readonly ListedSkipped[]> {
  const skipped = await control.listSkipped(skippedListedMax)
  return skipped.map((series) => ({
    ...series,
    line: textOf({ kind: 'line', content: series.line }),
  }))
}

/**
 * Retries entries.
 *
 * @param ids `undefined`: all
 * @returns how many are stored
 */
export async function retryRefused(
  collaborators: RefusedCollaborators,
  names: LineNames,
  ids: readonly number[] | undefined,
): Promise<number> {
  const { control } = collaborators
  const wanted = ids && new Set(ids)
  let stored = 0
  for (let part = await control.listRefused(0, TRIED_AT_ONCE); part.length > 0;) {
    const chosen = part.filter(({ id }) => wanted === undefined || wanted.has(id))
    stored += await retryAll(collaborators, names, chosen)
    part = await control.listRefused(part.at(-1)?.id ?? 0, TRIED_AT_ONCE)
  }
  return stored
}

/** Retries the entries whose time has come. @returns how many are stored */
export async function retryDueRefused(
  collaborators: RefusedCollaborators,
  names: LineNames,
): Promise<number> {
  const due = await collaborators.control.listDueRefused(collaborators.clock.nowMs(), TRIED_AT_ONCE)
  return retryAll(collaborators, names, due)
}

async function retryAll(
  collaborators: RefusedCollaborators,
  names: LineNames,
  entries: readonly RefusedEntry[],
): Promise<number> {
  if (entries.length === 0) return 0
  const reasons = await Promise.all(entries.map((entry) => retry(collaborators, names, entry)))
  const again = entries.flatMap(({ id }, at) => {
    const reason = reasons[at]
    return reason === undefined ? [] : [{ id, reason }]
  })
  const stored = entries.map(({ id }) => id).filter((_, at) => reasons[at] === undefined)
  const { controlWriter } = collaborators
  if (again.length > 0) await controlWriter.noteRefusedAgain(again)
  return stored.length === 0 ? 0 : controlWriter.dropRefused(stored)
}

/** @returns why it is refused again, `undefined` if it is stored */
async function retry(
  { submissions, clock }: RefusedCollaborators,
  names: LineNames,
  entry: RefusedEntry,
): Promise<string | undefined> {
  const { measurements: read, reason } = await readRefused(entry, names)
  const measurements = read.map((measurement, at) => ({
    ...measurement,
    eventId: measurement.eventId ?? `refused:${entry.id}:${at}`,
    measuredAtMs: measurement.measuredAtMs ?? entry.receivedAtMs,
  }))
  const submission = { userId: entry.userId, receivedAtMs: clock.nowMs(), measurements }
  const faults: RequestFault[] = []
  await commitLines(submissions, submission, async (found) => void faults.push(...found))
  return reason ?? faults[0]?.detail
}
