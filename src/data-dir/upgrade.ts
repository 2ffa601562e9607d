// Brings the files of an older version of Thermolog up to date, in a DATA_DIR that no service uses.
//
// The way back is a backup of the files as they were, which is made first. A record then says where
// it is, and of which formats. Whoever is interrupted after some of the files goes on with the
// others and takes no backup, which would be of both formats. An older version finds there the
// backup that it can restore.

import { existsSync, lstatSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { writeBackup } from './backup.ts'
import type { BackupProgress } from './backup.ts'
import { keepBackups } from './kept-backups.ts'
import { saidWithRoom } from '../core/open-engine.ts'
import { ownDataDir } from '../core/own-data-dir.ts'
import { failed, usage } from '../operations/failure.ts'
import { readFormats, upgradeFiles } from '../sqlite/backup/file-formats.ts'
import type { FileFormat } from '../sqlite/backup/file-formats.ts'
import { LEDGER_FILE, USE_OTHER_VERSION } from '../sqlite/database.ts'
import { clearWitness } from '../sqlite/log/witness.ts'
import { openWhole } from '../sqlite/verify/files-at-rest.ts'
import { prepareDataDir, UnfitDataDir } from '../system/data-dir.ts'
import { writeDurably } from '../system/disk.ts'

/** In DATA_DIR; one backup stays there. */
const BACKUP_FOLDER = 'before-upgrade'
const RECORD_FILE = 'upgrade.json'

interface DataDir {
  readonly dataDir: string
}

/** Every version must be able to read those of later ones. */
interface UpgradeRecord {
  /** The absolute path. */
  readonly backup: string
  /** The formats of the files in it, and those that they are to have. */
  readonly from: Formats
  readonly to: Formats
}

type Formats = Readonly<Record<string, number>>

/**
 * Durable when it resolves.
 *
 * @param target of the backup; `undefined`: a dated file in DATA_DIR
 * @returns the backup of the files as they were; `undefined` if none was needed
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
  const lock = await ownDataDir(dataDir)
  try {
    if (!(await isUpgradeDue(dataDir))) return undefined
    openWhole(dataDir).close()
    const backup = await wayBack(config, target, progress)
    // The logs go, which would be taken for a loss.
    clearWitness(dataDir)
    upgradeFiles(dataDir)
    return backup
  } catch (error) {
    throw await saidWithRoom(error, dataDir)
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
  throw new UnfitDataDir(dataDir, `${problem}: ${await describeWayBack(dataDir, formats)}`)
}

/** An upgrade would come first, and give out ids of the time before. @throws UnfitDataDir */
export function refuseOlderFormat(dataDir: string): void {
  if (!readFormats(dataDir).some(({ isOlder }) => isOlder)) return
  const problem = 'its files have the format of an older version of Thermolog'
  const remedy = 'run this command with that version, before the newer one starts'
  throw new UnfitDataDir(dataDir, `${problem}: ${remedy}`)
}

async function describeWayBack(dataDir: string, formats: readonly FileFormat[]): Promise<string> {
  const record = await readRecord(dataDir)
  const isOurs = formats.every(({ name, newest }) => record?.from[name] === newest)
  if (record === undefined || !isOurs || !existsSync(record.backup)) {
    return USE_OTHER_VERSION
  }
  return (
    'use the version that wrote it; or lose what was accepted since that one came, and restore ' +
    `into an empty DATA_DIR what it has kept of the time before: ${record.backup}`
  )
}

/** @returns the new backup, or that of the upgrade which goes on */
async function wayBack(
  config: DataDir,
  target: string | undefined,
  progress: BackupProgress,
): Promise<string | undefined> {
  const { dataDir } = config
  const formats = readFormats(dataDir)
  // A first start that was killed has accepted nothing.
  if (!formats.some(({ name }) => name === LEDGER_FILE)) return undefined
  const to = formatsOf(formats, ({ newest }) => newest)
  const begun = await readBegun(dataDir, formats)
  if (begun !== undefined && target !== undefined) {
    const hint = 'Run it without --backup.'
    throw usage(`the upgrade is under way: the files as they were are in ${begun.backup}`, hint)
  }
  const backup = begun?.backup ?? resolve(await backUp(config, target, progress))
  const from = begun?.from ?? formatsOf(formats, ({ version }) => version)
  await writeDurably(join(dataDir, RECORD_FILE), `${JSON.stringify({ backup, from, to })}\n`)
  return backup
}

function formatsOf(formats: readonly FileFormat[], pick: (format: FileFormat) => number): Formats {
  return Object.fromEntries(formats.map((format) => [format.name, pick(format)]))
}

/** The record of an upgrade after which some files are up to date, and others not. */
async function readBegun(
  dataDir: string,
  formats: readonly FileFormat[],
): Promise<UpgradeRecord | undefined> {
  const record = await readRecord(dataDir)
  if (record === undefined) return undefined
  const isUntouched = formats.every(({ name, version }) => record.from[name] === version)
  const isDone = formats.every(({ name, version }) => version >= (record.to[name] ?? 0))
  return isUntouched || isDone ? undefined : record
}

async function readRecord(dataDir: string): Promise<UpgradeRecord | undefined> {
  const file = join(dataDir, RECORD_FILE)
  if (!existsSync(file)) return undefined
  return JSON.parse(await readFile(file, 'utf8')) as UpgradeRecord
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
  await makeFolder(folder)
  return (await keepBackups(config, { folder, keep: 1 }, progress)).file
}

/** One of its own: what is older in it is deleted. */
async function makeFolder(folder: string): Promise<void> {
  if (!existsSync(folder)) await mkdir(folder, { mode: 0o700 })
  if (lstatSync(folder).isDirectory()) return
  const hint = 'Name a file: thermolog database migrate --backup FILE'
  throw failed(`${folder} is no folder of DATA_DIR, for the backup before the upgrade`, hint)
}
