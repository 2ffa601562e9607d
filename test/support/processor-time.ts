// The processor time of a process, as Linux counts it.

import { readFileSync } from 'node:fs'

const TICK_MS = 10
/** Of the fields of /proc/PID/stat behind the name: user, system, and both of children. */
const TIMES = { first: 11, end: 15 }

/** Of a process that has ended, 0. */
export function processorMsOf(pid: number): { ownMs: number; endedChildrenMs: number } {
  const [user = 0, system = 0, ofUsers = 0, ofSystems = 0] = readTicks(pid)
  return { ownMs: (user + system) * TICK_MS, endedChildrenMs: (ofUsers + ofSystems) * TICK_MS }
}

function readTicks(pid: number): readonly number[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(TIMES.first, TIMES.end).map(Number)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
