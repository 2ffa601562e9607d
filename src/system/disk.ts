// What of disks SQLite does not see to: room that is left, and names that are to last.

import { open, statfs } from 'node:fs/promises'

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

/** Names made and changed in the directory survive a power cut when it resolves. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
