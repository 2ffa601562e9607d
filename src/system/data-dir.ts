// Checks the folder DATA_DIR before any file in it is opened: that it is a folder, on a local disk,
// writable for this process, and unreadable for others, and that its data were not moved into a
// database. SQLite would only report that it is unable to open a file.

import { access, chmod, constants, mkdir, readdir, readFile, stat, statfs } from 'node:fs/promises'
import type { Stats } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { freeSpaceAtFirst } from '../domain/free-space.ts'
import type { FreeSpaceRule } from '../domain/free-space.ts'
import { readDiskSpace, sizeText, writeDurably } from './disk.ts'

/** DATA_DIR cannot be used; the message says why. */
export class UnfitDataDir extends Error {
  constructor(dataDir: string, problem: string) {
    super(`DATA_DIR ${resolve(dataDir)} cannot be used: ${problem}`)
    this.name = 'UnfitDataDir'
  }
}

/** File systems by their number in Linux's `statfs`; see its manual. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<bigint, string> = new Map([
  [0x6969n, 'NFS'],
  [0x517bn, 'SMB'],
  [0xff534d42n, 'SMB'],
  [0xfe534d42n, 'SMB'],
  [0x01021997n, '9p'],
])

/** Says where the data are now. */
const MOVED_FILE = 'moved'

export interface MovedTo {
  /** The URL of the database, without its password. */
  readonly database: string
  /** The identity of the data. */
  readonly storeId: string
  /** ISO 8601. */
  readonly at: string
}

const OTHERS_AND_GROUP = 0o077
const FOLDER_MODE = 0o700

/** Our files, which may have been created before they were private. */
const FILES = /^((control|ledger|measurements|lock)\.db(-wal|-shm|-journal)?|ballast|witness)$/

/** The file system's name, if more than one machine can write to it. */
export function networkFileSystem(type: bigint): string | undefined {
  // On 32-bit systems the upper half is the sign extension.
  return NETWORK_FILE_SYSTEMS.get(type & 0xffff_ffffn)
}

/**
 * For commands that only read. A DATA_DIR that does not exist yet is not unfit.
 *
 * @throws UnfitDataDir
 */
export async function refuseUnfitDataDir(dataDir: string): Promise<void> {
  const { path, stats } = await nearest(dataDir)
  if (!stats.isDirectory()) throw new UnfitDataDir(dataDir, `${path} is not a folder`)
  await refuseNetwork(dataDir, path)
  if (path !== resolve(dataDir)) return
  const problem = await problemOf(path, constants.X_OK)
  if (problem !== undefined) throw new UnfitDataDir(dataDir, problem)
}

/**
 * For a DATA_DIR that is still to be made.
 *
 * @throws UnfitDataDir if this process may not make it
 */
export async function refuseUnmakeable(dataDir: string): Promise<void> {
  const { path } = await nearest(dataDir)
  const problem = await problemOf(path, constants.W_OK | constants.X_OK)
  if (problem !== undefined) throw new UnfitDataDir(dataDir, problem)
}

/**
 * Whether it has data, or the remains of an interrupted restore.
 *
 * @throws UnfitDataDir if that cannot be determined
 */
export async function hasData(dataDir: string): Promise<boolean> {
  for (const name of ['control.db', 'restoring']) {
    try {
      await access(join(dataDir, name), constants.F_OK)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
      const problem = await problemOf(join(dataDir, name), constants.F_OK)
      const remedy = 'run the command as the user that the service runs as'
      throw new UnfitDataDir(dataDir, `${problem}: ${remedy}`)
    }
  }
  return false
}

/** Why there is no room for new data, in words; `undefined`: there is. */
export async function lackOfRoom(
  dataDir: string,
  rule: FreeSpaceRule,
): Promise<string | undefined> {
  const { path } = await nearest(dataDir)
  const { freeBytes, totalBytes } = await readDiskSpace(path)
  const needed = freeSpaceAtFirst(rule, totalBytes)
  if (freeBytes >= needed) return undefined
  return `its volume has ${sizeText(freeBytes)} free, and new data need ${sizeText(needed)}`
}

/** @throws UnfitDataDir if it has no data, and its volume no room for them */
export async function refuseSmallVolume(dataDir: string, rule: FreeSpaceRule): Promise<void> {
  if (await hasData(dataDir)) return
  const lack = await lackOfRoom(dataDir, rule)
  if (lack === undefined) return
  throw new UnfitDataDir(dataDir, `${lack}: free space there, or use a larger volume`)
}

/** @throws UnfitDataDir if a database has the data now; to be called by whoever has the lock */
export async function refuseMoved(dataDir: string): Promise<void> {
  const moved = await readMoved(dataDir)
  if (moved === undefined) return
  const { database, at } = moved
  const remedy = 'set DATABASE_URL to that database instead'
  throw new UnfitDataDir(dataDir, `its data were moved to ${database} at ${at}: ${remedy}`)
}

/** `undefined`: they are here. */
export async function readMoved(dataDir: string): Promise<MovedTo | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDir, MOVED_FILE), 'utf8')) as MovedTo
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Durable when it resolves: from then on nobody opens the data here. */
export async function noteMoved(dataDir: string, moved: MovedTo): Promise<void> {
  await writeDurably(join(dataDir, MOVED_FILE), `${JSON.stringify(moved)}\n`)
}

/**
 * For processes that write: creates it if it is missing, and makes everything in it private to its
 * owner, including what this process will create there.
 *
 * @throws UnfitDataDir
 */
export async function prepareDataDir(dataDir: string): Promise<void> {
  await refuseUnfitDataDir(dataDir)
  process.umask(OTHERS_AND_GROUP)
  await makeFolder(dataDir)
  await refuseUnwritable(dataDir)
  for (const name of await readdir(dataDir)) {
    if (FILES.test(name)) await keepToOwner(dataDir, join(dataDir, name))
  }
}

/** Whether a file in DATA_DIR is one that the service opens. */
export function isServiceFile(name: string): boolean {
  return FILES.test(name)
}

/**
 * @throws UnfitDataDir if this process may not write into the folder, or one of its files, or what
 *   should be a file is something else: to open a pipe would take for ever
 */
export async function refuseUnwritable(dataDir: string): Promise<void> {
  const wanted = constants.R_OK | constants.W_OK
  const problem = await problemOf(dataDir, wanted | constants.X_OK)
  if (problem !== undefined) throw new UnfitDataDir(dataDir, problem)
  for (const name of await readdir(dataDir)) {
    const file = join(dataDir, name)
    const stats = FILES.test(name) ? await statOf(file) : undefined
    if (stats === undefined) continue
    const fault = stats.isFile() ? await problemOf(file, wanted) : `${file} is not a file`
    if (fault !== undefined) throw new UnfitDataDir(dataDir, fault)
  }
}

// Step by step: with `recursive`, Node loops endlessly where nothing can be created.
async function makeFolder(dataDir: string): Promise<void> {
  const { path: there } = await nearest(dataDir)
  const missing: string[] = []
  for (let path = resolve(dataDir); path !== there; path = dirname(path)) missing.unshift(path)
  for (const path of missing) {
    try {
      await mkdir(path, { mode: FOLDER_MODE })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EEXIST' && (await statOf(path)) !== undefined) continue
      const problem = await problemOf(dirname(path), constants.W_OK | constants.X_OK)
      throw new UnfitDataDir(dataDir, problem ?? `${path} cannot be made (${code})`)
    }
  }
}

async function keepToOwner(dataDir: string, file: string): Promise<void> {
  const stats = await statOf(file)
  if (stats === undefined) return
  if ((stats.mode & OTHERS_AND_GROUP) === 0) return
  try {
    await chmod(file, stats.mode & 0o777 & ~OTHERS_AND_GROUP)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const others = `others may read ${file}, and uid ${uid()} cannot change that (${code})`
    throw new UnfitDataDir(dataDir, `${others}: it ${ownerOf(stats)}`)
  }
}

async function refuseNetwork(dataDir: string, path: string): Promise<void> {
  if (process.platform !== 'linux') return
  const { type } = await statfs(path, { bigint: true })
  const name = networkFileSystem(type)
  if (name === undefined) return
  const why = 'where a second machine could write at the same time without being noticed'
  throw new UnfitDataDir(dataDir, `it is on ${name}, ${why}: use a local disk`)
}

/** Why this process may not do something, in words; `undefined` if it may. */
async function problemOf(path: string, wanted: number): Promise<string | undefined> {
  try {
    await access(path, wanted)
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EROFS') return `${path} is on a read-only file system`
    const stats = await statOf(path)
    if (stats === undefined) return `${path} cannot be examined (${code})`
    const what = (wanted & constants.W_OK) === 0 ? 'look into' : 'write to'
    return `uid ${uid()} may not ${what} ${path} (${code}), which ${ownerOf(stats)}`
  }
}

/** The path itself or, if it does not exist, the folder in which it would be created. */
async function nearest(dataDir: string): Promise<{ path: string; stats: Stats }> {
  for (let path = resolve(dataDir); ; path = dirname(path)) {
    const stats = await statOf(path)
    if (stats !== undefined) return { path, stats }
    if (path === dirname(path)) throw new UnfitDataDir(dataDir, `there is no ${path}`)
  }
}

/** `undefined` if it does not exist or cannot be examined. */
async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    return undefined
  }
}

function ownerOf({ uid: owner, mode }: Stats): string {
  return `belongs to uid ${owner} (mode ${(mode & 0o777).toString(8)})`
}

function uid(): number | string {
  return process.getuid?.() ?? 'of this process'
}
