// `thermolog backup` and `thermolog restore`: all of DATA_DIR as one file, and back.

import type { Command } from 'commander'
import type { BackupManifest } from '../data-dir/read-backup.ts'
import { grouped } from '../domain/grouped.ts'
import { failed, usage } from '../operations/operations.ts'
import { noteBackup } from '../system/last-backup.ts'
import { countReader, example } from './arguments.ts'
import { ByteProgress } from './terminal/progress.ts'
import { counted, printJson, printNote, printText, readableTime } from './terminal/print.ts'
import { readSettings, readSettingsOfFiles, readSettingsWithData } from './read-settings.ts'

const STDOUT = '-'

/** Where a database has the data. */
const INSTEAD = 'Use the backups of PostgreSQL: pg_dump, or its archive of the write-ahead log.'

export function addCommands(program: Command): void {
  program
    .command('backup')
    .description('write all of DATA_DIR to one file, whether the service runs or not')
    .argument('<file>', 'the file to write, which must not exist yet; - is standard output')
    .option(
      '--keep <n>',
      'write a dated file into the folder <file>, then delete all but the newest n of them',
      countReader('--keep'),
    )
    .option('--json', 'print its manifest as JSON')
    .action(backup)
    .addHelpText('after', example('thermolog backup --keep 7 /var/backups/thermolog'))
  program
    .command('restore')
    .description('restore a backup into an empty DATA_DIR')
    .argument('<file>', 'a file written by `thermolog backup`')
    .option(
      '--revoke-tokens',
      'revoke all tokens; otherwise tokens revoked since the backup work again',
    )
    .option('--json', 'print its manifest as JSON')
    .action(restore)
    .addHelpText(
      'after',
      example('DATA_DIR=./new thermolog restore thermolog-2026-11-20.tar --revoke-tokens'),
    )
}

interface BackupOptions {
  readonly keep?: number
  readonly json?: boolean
}

async function backup(target: string, options: BackupOptions): Promise<void> {
  if (target === STDOUT) refuseUnfitOutput(options)
  const { keep, json } = options
  const config = await readSettingsOfFiles(readSettingsWithData, INSTEAD)
  const progress = new ByteProgress()
  try {
    const { file, manifest, deleted } = await takeBackup(config, { target, keep }, progress)
    progress.end()
    if (json === true) printJson(manifest)
    else if (target === STDOUT) printNote(`the backup is written: ${described(manifest)}`)
    else printText(`${file} is written and verified: ${described(manifest)}`)
    await noteTaken(config, manifest, target === STDOUT ? null : file)
    if (deleted.length > 0) printNote(`deleted, as ${keep} are kept: ${deleted.join(', ')}`)
    if (isElsewhere(manifest)) {
      printNote(
        `the measurements are in ${manifest.store}, which needs its own backup: take that first`,
      )
    }
  } finally {
    progress.end()
  }
}

async function takeBackup(
  config: { readonly dataDir: string },
  { target, keep }: { readonly target: string; readonly keep: number | undefined },
  progress: ByteProgress,
) {
  if (keep !== undefined) {
    const { keepBackups } = await import('../data-dir/kept-backups.ts')
    return keepBackups(config, { folder: target, keep }, progress)
  }
  const { streamBackup, writeBackup } = await import('../data-dir/backup.ts')
  const manifest =
    target === STDOUT
      ? await streamBackup(config, putOut, progress)
      : await writeBackup(config, target, progress)
  return { file: target, manifest, deleted: [] }
}

/** So that an alert can tell when backups have ended. */
async function noteTaken(
  { dataDir }: { readonly dataDir: string },
  { taken_at }: BackupManifest,
  file: string | null,
): Promise<void> {
  try {
    await noteBackup(dataDir, { taken_at, file })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    printNote(`nothing in DATA_DIR says that this backup was made: ${reason}`)
  }
}

function refuseUnfitOutput({ keep, json }: BackupOptions): void {
  if (keep !== undefined) throw usage('--keep wants a folder, not -')
  if (json === true) throw usage('--json and the backup cannot both go to standard output')
  if (process.stdout.isTTY) {
    throw usage('a backup is not for a terminal', 'Write it to a pipe, or name a file.')
  }
}

function putOut(bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => {
      if (error == null) resolve()
      else reject(failed(`the backup is incomplete: standard output: ${error.message}`))
    })
  })
}

interface RestoreOptions {
  readonly revokeTokens?: boolean
  readonly json?: boolean
}

async function restore(file: string, { revokeTokens, json }: RestoreOptions): Promise<void> {
  const config = await readSettingsOfFiles(readSettings, INSTEAD)
  const { restoreBackup } = await import('../data-dir/restore.ts')
  const progress = new ByteProgress()
  try {
    const order = { isRevoking: revokeTokens === true, progress }
    const { manifest, liveTokens } = await restoreBackup(config, file, order)
    progress.end()
    const takenAt = readableTime(manifest.taken_at)
    if (json === true) printJson(manifest)
    else printText(`restored into ${config.dataDir}: ${described(manifest)}, taken at ${takenAt}`)
    if (liveTokens > 0) {
      printNote(
        'tokens work as when the backup was taken, even if revoked since ' +
          `(${grouped(liveTokens)} in all; --revoke-tokens revokes them)`,
      )
    }
  } finally {
    progress.end()
  }
}

function described({ files }: BackupManifest): string {
  const { users, sensors = 0, journal_measurements: journalled = 0 } = files['control.db'] ?? {}
  if (users === undefined) return 'files of an older version'
  const stored = files['measurements.db']?.['measurements']
  const measurements = counted(stored ?? journalled, 'measurement')
  const where = stored === undefined ? ' in the journal' : ''
  return `${counted(users, 'user')}, ${counted(sensors, 'sensor')}, ${measurements}${where}`
}

function isElsewhere({ files }: BackupManifest): boolean {
  return files['measurements.db'] === undefined
}
