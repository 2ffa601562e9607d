// What SQLite does not do for disks: free space, durable file names, and small files that are there
// whole or not at all.

import { open, rename, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

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

/** `512.0 MiB`, `1.5 GiB`. */
export function sizeText(bytes: number): string {
  const isLarge = bytes >= 2 ** 30
  return `${(bytes / (isLarge ? 2 ** 30 : 2 ** 20)).toFixed(1)} ${isLarge ? 'GiB' : 'MiB'}`
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

/** Durable when it resolves; until then the file has all of the text, or is as it was. */
export async function writeDurably(file: string, text: string): Promise<void> {
  const handle = await open(`${file}.unfinished`, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${file}.unfinished`, file)
  await syncFolder(dirname(file))
}
