// Syncs the witness once a second, if it has changed: threads note in it after each commit how far
// their files are durable, and none of them waits for the disk a second time.

import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SECOND_MS } from '../domain/time.ts'
import { WITNESS_FILE } from '../sqlite/log/witness.ts'
import { pause } from '../system/pause.ts'

/** @returns a function that ends this */
export function keepWitness(dataDir: string): () => Promise<void> {
  const ending = new AbortController()
  const kept = keep(join(dataDir, WITNESS_FILE), ending.signal)
  return async () => {
    ending.abort()
    await kept
  }
}

async function keep(file: string, signal: AbortSignal): Promise<void> {
  let syncedAtMs = 0
  for (;;) {
    await pause(SECOND_MS, signal)
    if (signal.aborted) return
    const { mtimeMs } = await stat(file)
    if (mtimeMs === syncedAtMs) continue
    const witness = await open(file, 'r+')
    await witness.datasync()
    await witness.close()
    syncedAtMs = mtimeMs
  }
}
