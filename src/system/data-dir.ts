// The folder DATA_DIR itself, before a file of it is opened: that it is one, on a disk of this
// machine, that this process may write there, and that nobody else can read what is in it. SQLite
// would say of all of this that it is unable to open a file.

import { access, chmod, constants, mkdir, readdir, stat, statfs } from 'node:fs/promises'
import type { Stats } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** DATA_DIR names what cannot be used; the message says what, and why. */
export class UnfitDataDir extends Error {
  constructor(dataDir: string, problem: string) {
    super(`DATA_DIR ${resolve(dataDir)} cannot be used: ${problem}`)
    this.name = 'UnfitDataDir'
  }
}

/** File systems by what `statfs` of Linux calls them; see its manual. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<bigint, string> = new Map([
  [0x6969n, 'NFS'],
  [0x517bn, 'SMB'],
  [0xff534d42n, 'SMB'],
  [0xfe534d42n, 'SMB'],
  [0x01021997n, '9p'],
])

const OTHERS_AND_GROUP = 0o077
const FOLDER_MODE = 0o700

/** Files of ours, which were made before they were nobody else's business. */
const FILES = /^((control|ledger|measurements|lock)\.db(-wal|-shm|-journal)?|ballast)$/

/** The name of a file system that more than one machine can write to, if it is one. */
export function networkFileSystem(type: bigint): string | undefined {
  // Where a word has 32 bits the upper half is made of the sign.
  return NETWORK_FILE_SYSTEMS.get(type & 0xffff_ffffn)
}

/**
 * For whoever only looks into it. One that is not there yet is none that is unfit.
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
 * Whether there are data in it, or a restore of some that did not come to its end.
 *
 * @throws UnfitDataDir when that cannot be seen
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

/**
 * For whoever is to write: makes it where it is missing, and all that is in it, and will be made
 * in it from now on by this process, for its owner alone.
 *
 * @throws UnfitDataDir
 */
export async function prepareDataDir(dataDir: string): Promise<void> {
  await refuseUnfitDataDir(dataDir)
  process.umask(OTHERS_AND_GROUP)
  await makeFolder(dataDir)
  const problem = await problemOf(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  if (problem !== undefined) throw new UnfitDataDir(dataDir, problem)
  for (const name of await readdir(dataDir)) {
    if (FILES.test(name)) await keepToOwner(dataDir, join(dataDir, name))
  }
}

// Step by step: told to make the parents as well, Node tries for ever where nothing can be made.
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
  const problem = await problemOf(file, constants.R_OK | constants.W_OK)
  if (problem !== undefined) throw new UnfitDataDir(dataDir, problem)
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
  const why = 'where a second machine could write at the same time, and no lock would tell'
  throw new UnfitDataDir(dataDir, `it is on ${name}, ${why}: use a disk of this machine`)
}

/** What keeps this process from something, in words; `undefined`: nothing. */
async function problemOf(path: string, wanted: number): Promise<string | undefined> {
  try {
    await access(path, wanted)
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EROFS') return `${path} is on a file system that is read-only`
    const stats = await statOf(path)
    if (stats === undefined) return `${path} cannot be looked at (${code})`
    const what = (wanted & constants.W_OK) === 0 ? 'look into' : 'write to'
    return `uid ${uid()} may not ${what} ${path} (${code}), which ${ownerOf(stats)}`
  }
}

/** The path itself or, as long as that is missing, the folder that it would be made in. */
async function nearest(dataDir: string): Promise<{ path: string; stats: Stats }> {
  for (let path = resolve(dataDir); ; path = dirname(path)) {
    const stats = await statOf(path)
    if (stats !== undefined) return { path, stats }
    if (path === dirname(path)) throw new UnfitDataDir(dataDir, `there is no ${path}`)
  }
}

/** `undefined` when there is none, or none that could be looked at. */
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
