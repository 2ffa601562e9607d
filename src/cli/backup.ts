// `thermolog backup` and `thermolog restore`: all of DATA_DIR as one file, and back.

import type { Command } from 'commander'
import type { BackupManifest } from '../data-dir/backup.ts'
import { example } from './arguments.ts'
import { ByteProgress } from './terminal/byte-progress.ts'
import { printJson } from './terminal/print.ts'
import { readSettings, readSettingsOfFiles, readSettingsWithData } from './read-settings.ts'

/** Where a database has the data. */
const INSTEAD = 'Use the backups of PostgreSQL: pg_dump, or its archive of the write-ahead log.'

export function addCommands(program: Command): void {
  program
    .command('backup')
    .description('write all of DATA_DIR to one file, whether the service runs or not')
    .argument('<file>', 'the file to write; it must not exist yet')
    .option('--json', 'print its manifest as JSON')
    .action(backup)
    .addHelpText('after', example('thermolog backup thermolog-$(date +%F).tar'))
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

async function backup(file: string, { json }: { readonly json?: boolean }): Promise<void> {
  const config = await readSettingsOfFiles(readSettingsWithData, INSTEAD)
  const { writeBackup } = await import('../data-dir/backup.ts')
  const progress = new ByteProgress()
  try {
    const manifest = await writeBackup(config, file, progress)
    progress.end()
    if (json === true) printJson(manifest)
    else say(`${file} is written and verified: ${described(manifest)}`)
    if (isElsewhere(manifest)) {
      warn(`the measurements are in ${manifest.store}, which needs its own backup: take that first`)
    }
  } finally {
    progress.end()
  }
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
    if (json === true) printJson(manifest)
    else
      say(`restored into ${config.dataDir}: ${described(manifest)}, taken at ${manifest.taken_at}`)
    if (liveTokens > 0) {
      warn(
        'tokens work as when the backup was taken, even if revoked since ' +
          `(${liveTokens} in all; --revoke-tokens revokes them)`,
      )
    }
  } finally {
    progress.end()
  }
}

function described({ files }: BackupManifest): string {
  const { users, sensors, journal_measurements: journalled } = files['control.db'] ?? {}
  const stored = files['measurements.db']?.['measurements']
  const measurements =
    stored === undefined ? `measurements in the journal ${journalled}` : `measurements ${stored}`
  return `users ${users}, sensors ${sensors}, ${measurements}`
}

function isElsewhere({ files }: BackupManifest): boolean {
  return files['measurements.db'] === undefined
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

function warn(text: string): void {
  process.stderr.write(`${text}\n`)
}
