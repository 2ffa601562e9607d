// The processor time of a process, as Linux counts it.

import { readFileSync } from 'node:fs'

const TICK_MS = 10
/** Of the fields of /proc/PID/stat behind the name: user and system. */
const TIMES = { first: 11, end: 13 }

/** Of a process that has ended, 0. */
export function processorMsOf(pid: number): number {
  const [user = 0, system = 0] = readTicks(pid)
  return (user + system) * TICK_MS
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
