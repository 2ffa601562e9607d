// How much room the volume of a directory has left.

import { statfs } from 'node:fs/promises'

export interface DiskSpace {
  /** What a process without privileges can still write. */
  readonly freeBytes: number
  readonly totalBytes: number
}

/** @throws Error when the directory cannot be looked at */
export async function readDiskSpace(directory: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(directory)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}
