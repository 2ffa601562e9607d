// Brings the files of an older version of Thermolog up to date, in a DATA_DIR that no service uses.
// The way back is a backup of the files as they were, which is made first.

import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { writeBackup } from './backup.ts'
import type { BackupProgress } from './backup.ts'
import { keepBackups, namesOfBackups } from './kept-backups.ts'
import { lockDataDir, refuseUnfinishedRestore } from '../sqlite/data-dir-lock.ts'
import { readFormats, upgradeFiles } from '../sqlite/backup/file-formats.ts'
import { clearWitness } from '../sqlite/log/witness.ts'
import { openWhole } from '../sqlite/verify/files-at-rest.ts'
import { prepareDataDir, UnfitDataDir } from '../system/data-dir.ts'
import { refuseMoved } from '../system/moved-data-dir.ts'
import { forgetUpgrade, isUpgradeBegun, noteUpgrade } from '../system/upgrade-mark.ts'

/** In DATA_DIR; one backup stays there. */
const BACKUP_FOLDER = 'before-upgrade'

interface DataDir {
  readonly dataDir: string
}

/**
 * Durable when it resolves.
 *
 * @param target of the backup; `undefined`: a dated file in DATA_DIR
 * @returns the new backup of the files as they were; `undefined` if none was needed
 * @throws DataDirInUse @throws DamagedData
 * @throws UnfitDataDir if a file has a format that this version does not know
 * @throws OperationError if there can be no backup: nothing is changed then
 */
export async function upgradeDataDir(
  config: DataDir,
  target: string | undefined,
  progress: BackupProgress,
): Promise<string | undefined> {
  const { dataDir } = config
  await prepareDataDir(dataDir)
  const lock = lockDataDir(dataDir)
  try {
    refuseUnfinishedRestore(dataDir)
    await refuseMoved(dataDir)
    const backup = (await isUpgradeDue(dataDir))
      ? await upgrade(config, target, progress)
      : undefined
    await forgetUpgrade(dataDir)
    return backup
  } finally {
    lock.release()
  }
}

/**
 * Whether a file has an older format.
 *
 * @throws UnfitDataDir if one has a format that this version does not know @throws DamagedData
 */
export async function isUpgradeDue(dataDir: string): Promise<boolean> {
  const formats = readFormats(dataDir)
  const unknown = formats.find(({ version, newest, isOlder }) => version !== newest && !isOlder)
  if (unknown === undefined) return formats.some(({ isOlder }) => isOlder)
  const { name, version, newest } = unknown
  const problem = `${name} has schema version ${version}, this version of Thermolog knows ${newest}`
  throw new UnfitDataDir(dataDir, `${problem}. ${await wayBack(dataDir)}`)
}

async function wayBack(dataDir: string): Promise<string> {
  const folder = join(dataDir, BACKUP_FOLDER)
  const [backup] = existsSync(folder) ? await namesOfBackups(folder) : []
  if (backup === undefined) return 'Use the version that wrote it, or restore a backup'
  return (
    'Use the version that wrote it; or lose what was accepted since that one came, and restore ' +
    `into an empty DATA_DIR what it has kept of the time before: ${join(folder, backup)}`
  )
}

async function upgrade(
  config: DataDir,
  target: string | undefined,
  progress: BackupProgress,
): Promise<string | undefined> {
  const { dataDir } = config
  openWhole(dataDir).close()
  const backup = isUpgradeBegun(dataDir) ? undefined : await backUp(config, target, progress)
  if (backup !== undefined) await noteUpgrade(dataDir, backup)
  // The logs go, which would be taken for a loss.
  clearWitness(dataDir)
  upgradeFiles(dataDir)
  return backup
}

/** @returns the file */
async function backUp(
  config: DataDir,
  target: string | undefined,
  progress: BackupProgress,
): Promise<string> {
  if (target !== undefined) {
    await writeBackup(config, target, progress)
    return target
  }
  const folder = join(config.dataDir, BACKUP_FOLDER)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return (await keepBackups(config, { folder, keep: 1 }, progress)).file
}
