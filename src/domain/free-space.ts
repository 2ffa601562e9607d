// How much of a volume is to stay free.

import { lastWritesBytesMax } from './limits.ts'

/** The smaller of a share of the volume and a number of bytes; 0: nothing has to stay free. */
export interface FreeSpaceRule {
  readonly volumePercent: number
  readonly bytes: number
}

/**
 * Never less than what is still written when nothing is admitted any more: else the volume would be
 * full to the last byte.
 *
 * @returns bytes, on a volume of that size
 */
export function freeSpaceMin({ volumePercent, bytes }: FreeSpaceRule, totalBytes: number): number {
  const wanted = Math.min(bytes, (totalBytes * volumePercent) / 100)
  return wanted === 0 ? 0 : Math.max(wanted, lastWritesBytesMax)
}

/** What new data need to have free: with the minimum alone nothing could be admitted for long. */
export function freeSpaceAtFirst(rule: FreeSpaceRule, totalBytes: number): number {
  return 2 * freeSpaceMin(rule, totalBytes)
}
