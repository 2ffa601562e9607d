// DATA_DIR: whether the service can use it.

import { lstat, readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import { RESTORE_BACKUP } from '../domain/finding.ts'
import { refuseUnfinishedRestore } from '../sqlite/data-dir-lock.ts'
import { CONTROL_FILE, DATA_FILES } from '../sqlite/database.ts'
import {
  hasData,
  isServiceFile,
  refuseMoved,
  refuseUnfitDataDir,
  refuseUnmakeable,
  refuseUnwritable,
} from '../system/data-dir.ts'
import { Check, reasonOf } from './check.ts'
import type { CheckResult } from './check.ts'
import { checkRoom, checkRoomAtFirst, checkSync } from './disk-checks.ts'

const dataDirCheck = new Check('data_dir')

/** In order; a check that depends on a failed one is left out. */
export async function checkDataDir(config: Config): Promise<readonly CheckResult[]> {
  const { dataDir } = config
  try {
    await refuseUnfitDataDir(dataDir)
    if (!(await isFolder(dataDir))) {
      await refuseUnmakeable(dataDir)
      return [ofNoData(dataDir), await checkRoomAtFirst(config)]
    }
    const stranger = await findStranger(dataDir)
    if (stranger !== undefined) return [stranger]
    await refuseUnwritable(dataDir)
    refuseUnfinishedRestore(dataDir)
    await refuseMoved(dataDir)
    const isUsed = await hasData(dataDir)
    const found = isUsed
      ? dataDirCheck.ok(`the data are in ${resolve(dataDir)}`)
      : await ofNoControl(dataDir)
    if (found.state === 'wrong') return [found]
    const disk = await (isUsed ? checkRoom(config) : checkRoomAtFirst(config))
    return disk.state === 'wrong' ? [disk, found] : [found, disk, await checkSync(dataDir)]
  } catch (error) {
    const needed = 'the service needs a folder on a local disk that its user may write to'
    return [dataDirCheck.wrong(reasonOf(error), needed)]
  }
}

async function ofNoControl(dataDir: string): Promise<CheckResult> {
  const rest = (await readdir(dataDir)).filter((name) => DATA_FILES.includes(name))
  if (rest.length === 0) return ofNoData(dataDir)
  return dataDirCheck.wrong(
    `${join(resolve(dataDir), CONTROL_FILE)} is missing beside ${rest.join(' and ')}`,
    RESTORE_BACKUP,
  )
}

function ofNoData(dataDir: string): CheckResult {
  return dataDirCheck.ok(`no data yet: the service makes them in ${resolve(dataDir)}`)
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/**
 * For root, who may open everything: finds a file that a command run by root left and the service
 * cannot open. If the folder belongs to root, its files show who the service is.
 */
async function findStranger(dataDir: string): Promise<CheckResult | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const { uid, gid } = await stat(dataDir)
  const names = (await readdir(dataDir)).filter(isServiceFile)
  const files = await Promise.all(
    names.map(async (name) => ({
      name,
      owner: (await lstat(join(dataDir, name)).catch(ifGone)).uid,
    })),
  )
  const others = files.filter(({ owner }) => owner !== undefined && owner !== 0)
  const service = uid === 0 ? (others[0]?.owner ?? 0) : uid
  const stranger = files.find(({ owner }) => owner !== undefined && owner !== service)
  if (stranger === undefined) return undefined
  return dataDirCheck.wrong(
    `${join(resolve(dataDir), stranger.name)} belongs to uid ${stranger.owner}, ` +
      `not to uid ${service}`,
    `as root: chown ${service}:${gid} ${resolve(dataDir)}/*`,
  )
}

/** A running service may delete files meanwhile. */
function ifGone(error: NodeJS.ErrnoException): { readonly uid?: number } {
  if (error.code === 'ENOENT' || error.code === 'EACCES') return {}
  throw error
}
