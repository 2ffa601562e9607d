// A process as Linux shows it: its memory, its open files, and whether it has come to rest.

import { readdirSync, readFileSync } from 'node:fs'
import { processorMsOf } from './processor-time.ts'

const LOOK_EVERY_MS = 50
/** Of so many looks one after the other, in each of which it used little of the processor. */
const RESTING_LOOKS = 4
const RESTING_MS_MAX = 20

/** Of a process that has ended, 0. */
export function residentBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1_024
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/** Looks at a process again and again, until it is ended. */
export class ProcessWatch {
  readonly #pid: number
  readonly #looking: NodeJS.Timeout
  #processorMs: number
  #restingLooks = 0
  #peakBytes: number

  constructor(pid: number) {
    this.#pid = pid
    this.#peakBytes = residentBytes(pid)
    this.#processorMs = processorMsOf(pid)
    this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS)
  }

  /** The most that it had in memory. */
  get peakBytes(): number {
    return this.#peakBytes
  }

  get isResting(): boolean {
    return this.#restingLooks >= RESTING_LOOKS
  }

  end(): void {
    clearInterval(this.#looking)
  }

  #look(): void {
    this.#peakBytes = Math.max(this.#peakBytes, residentBytes(this.#pid))
    const processorMs = processorMsOf(this.#pid)
    const isLittle = processorMs - this.#processorMs <= RESTING_MS_MAX
    this.#restingLooks = isLittle ? this.#restingLooks + 1 : 0
    this.#processorMs = processorMs
  }
}
