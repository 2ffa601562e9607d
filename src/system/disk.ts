// What SQLite does not do for disks: free space, and durable file names.

import { open, statfs } from 'node:fs/promises'

export interface DiskSpace {
  /** What an unprivileged process can still write. */
  readonly freeBytes: number
  readonly totalBytes: number
}

/** @throws Error if the directory cannot be examined */
export async function readDiskSpace(directory: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(directory)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

/** When it resolves, names created and changed in the directory survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
