// Emptying the journal of a DATA_DIR that is this command's own.

import { setTimeout } from 'node:timers/promises'
import type { Core } from '../core/open-core.ts'
import { failed } from '../operations/operations.ts'
import type { WorkProgress } from '../ports/system.ts'

const LOOK_EVERY_MS = 50

/**
 * Waits until everything acknowledged is in the embedded store, and everything deleted is gone.
 *
 * @throws OperationError if the store takes nothing
 */
export async function drain(
  { progress: stored, control, isStoreWorking }: Core,
  progress: WorkProgress,
): Promise<void> {
  const left = async () => stored.backlog().entries + (await control.countSensorDeletions())
  let entries = await left()
  progress.begin('emptying the journal', entries, 'measurement')
  while (entries > 0) {
    if (!isStoreWorking()) {
      throw failed('writes from the journal into the embedded store fail', 'Is the disk full?')
    }
    await setTimeout(LOOK_EVERY_MS)
    const before = entries
    entries = await left()
    progress.advance(before - entries)
  }
}
