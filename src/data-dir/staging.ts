// What backups take of the disk: files and folders that are named, folders for what is not
// finished, and the room for it.

import { existsSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { failed } from '../operations/failure.ts'
import { lockFile } from '../sqlite/data-dir-lock.ts'
import { readDiskSpace } from '../system/disk.ts'

const LOCK_FILE = 'backup-lock.db'
const BYTES_PER_MB = 1_000_000

/** @param what it should be, for messages @throws OperationError if nothing is there */
export async function statNamed(what: 'file' | 'folder', path: string): Promise<Stats> {
  return stat(path).catch((error: NodeJS.ErrnoException) => {
    throw failed(error.code === 'ENOENT' ? `no ${what} ${path}` : error.message)
  })
}

/**
 * Works in a folder that is removed at the end. One that a killed process has left is emptied and
 * used again: the lock in it went with that process.
 *
 * @throws OperationError if another process is using it, or it is something else
 */
export async function inUnfinishedFolder<Result>(
  folder: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await makeFolder(folder)
  const lock = lockFile(join(folder, LOCK_FILE), () =>
    failed(`${folder} is in use: another backup is being written`),
  )
  try {
    const left = (await readdir(folder)).filter((name) => !name.startsWith(LOCK_FILE))
    for (const name of left) await rm(join(folder, name))
    return await work()
  } finally {
    await rm(folder, { recursive: true })
    lock.release()
  }
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw failed(`cannot write there: ${error.message}`)
    if (existsSync(join(folder, LOCK_FILE))) return
    throw failed(`${folder} exists, and no backup has made it`, 'Delete it, or move it elsewhere.')
  })
}

/** Works in a new folder below TMPDIR that is removed at the end. */
export async function inTemporaryFolder<Result>(
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'thermolog-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** @throws OperationError if so many bytes do not fit into the folder */
export async function refuseLackOfRoom(folder: string, bytes: number): Promise<void> {
  const { freeBytes } = await readDiskSpace(folder)
  if (bytes <= freeBytes) return
  const hint = folder.startsWith(tmpdir())
    ? 'Set TMPDIR to a folder on a larger disk.'
    : 'Free some space, or write to another disk.'
  throw failed(`${folder} has ${inMb(freeBytes)} free, and this takes ${inMb(bytes)}`, hint)
}

/** `507 MB`, rounded up. */
export function inMb(bytes: number): string {
  return `${Math.ceil(bytes / BYTES_PER_MB)} MB`
}
