// Syncs the witness once a second, if it has changed: after each commit, threads record in it how
// far their files are durable, without waiting for the disk again.

import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { SECOND_MS } from '../../domain/time.ts'
import type { Log } from '../../ports/system.ts'
import { WITNESS_FILE } from './witness.ts'

interface Collaborators {
  /** Resolves after that time, or as soon as the signal aborts. */
  readonly pause: (durationMs: number, signal: AbortSignal) => Promise<void>
  readonly log: Log
}

/** @returns a function that stops this */
export async function keepWitness(
  dataDir: string,
  collaborators: Collaborators,
): Promise<() => Promise<void>> {
  // Kept open: the service continues if somebody deletes the file, or if files run out.
  const witness = await open(join(dataDir, WITNESS_FILE), 'r+')
  const ending = new AbortController()
  const kept = keep(witness, collaborators, ending.signal)
  return async () => {
    ending.abort()
    await kept
    await witness.close()
  }
}

async function keep(
  witness: FileHandle,
  { pause, log }: Collaborators,
  signal: AbortSignal,
): Promise<void> {
  let syncedAtMs = 0
  let isFailing = false
  for (;;) {
    await pause(SECOND_MS, signal)
    if (signal.aborted) return
    try {
      const { mtimeMs } = await witness.stat()
      if (mtimeMs === syncedAtMs) continue
      await witness.datasync()
      syncedAtMs = mtimeMs
      isFailing = false
    } catch (error) {
      // Then it knows less after a power cut, but nothing else depends on it.
      if (!isFailing) log.warn('the witness cannot be synced', { error: (error as Error).message })
      isFailing = true
    }
  }
}
