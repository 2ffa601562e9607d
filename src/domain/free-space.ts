// How much of a volume is to stay free.

/** The smaller of a share of the volume and a number of bytes. */
export interface FreeSpaceRule {
  readonly volumePercent: number
  readonly bytes: number
}

/** @returns bytes, on a volume of that size */
export function freeSpaceMin({ volumePercent, bytes }: FreeSpaceRule, totalBytes: number): number {
  return Math.min(bytes, (totalBytes * volumePercent) / 100)
}
