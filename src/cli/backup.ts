// `thermolog backup`: all of DATA_DIR as one file.

import { countReader, readText } from '../commands/arguments.ts'
import { optional, required } from '../commands/command.ts'
import type { Shown, Values } from '../commands/command.ts'
import type { BackupManifest } from '../data-dir/read-backup.ts'
import { failed, usage } from '../operations/failure.ts'
import { noteBackup } from '../system/last-backup.ts'
import { describeBackup, INSTEAD } from './describe-backup.ts'
import { localCommand } from './local-command.ts'
import { readSettingsOfFiles, readSettingsWithData } from './read-settings.ts'
import { ByteProgress } from './terminal/progress.ts'
import type { Terminal } from './terminal/terminal.ts'

const STDOUT = '-'

const given = {
  file: required(
    '<file>',
    'the file to write, which must not exist yet; - is standard output',
    readText,
  ),
  keep: optional(
    '--keep <n>',
    'write a dated file into the folder <file>, then delete all but the newest n of them',
    countReader('--keep'),
  ),
}

type Order = Values<typeof given>

export const commands = [
  localCommand({
    path: 'backup',
    help: 'write all of DATA_DIR to one file, whether the service runs or not',
    example: 'thermolog backup --keep 7 /var/backups/thermolog',
    json: 'print its manifest as JSON',
    arguments: given,
    run: backup,
    present: showBackup,
  }),
] as const

interface Backup {
  readonly file: string
  readonly manifest: BackupManifest
  readonly deleted: readonly string[]
  /** Why no alert can tell that it was made. */
  readonly unnoted?: string | undefined
}

async function backup(terminal: Terminal, order: Order, isJson?: boolean): Promise<Backup> {
  if (order.file === STDOUT) refuseUnfitOutput(terminal, order, isJson)
  const config = await readSettingsOfFiles(() => readSettingsWithData(terminal), INSTEAD)
  const progress = new ByteProgress(terminal)
  try {
    const taken = await takeBackup(terminal, config, order, progress)
    return { ...taken, unnoted: await noteTaken(config, taken) }
  } finally {
    progress.end()
  }
}

async function takeBackup(
  { io }: Terminal,
  config: { readonly dataDir: string },
  { file, keep }: Order,
  progress: ByteProgress,
): Promise<Backup> {
  if (keep !== undefined) {
    const { keepBackups } = await import('../data-dir/kept-backups.ts')
    return keepBackups(config, { folder: file, keep }, progress)
  }
  const { streamBackup, writeBackup } = await import('../data-dir/backup.ts')
  const putOut = (bytes: Buffer) => written(io.stdout, bytes)
  const manifest = await (file === STDOUT
    ? streamBackup(config, putOut, progress)
    : writeBackup(config, file, progress))
  return { file, manifest, deleted: [] }
}

/** So that an alert can tell when backups have ended. @returns why it cannot */
async function noteTaken(
  { dataDir }: { readonly dataDir: string },
  { file, manifest }: Backup,
): Promise<string | undefined> {
  try {
    const { taken_at } = manifest
    await noteBackup(dataDir, { taken_at, file: file === STDOUT ? null : file })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function refuseUnfitOutput({ io }: Terminal, { keep }: Order, isJson = false): void {
  if (keep !== undefined) throw usage('--keep wants a folder, not -')
  if (isJson) throw usage('--json and the backup cannot both go to standard output')
  if (io.stdout.isTTY === true) {
    throw usage('a backup is not for a terminal', 'Write it to a pipe, or name a file.')
  }
}

function written(stdout: Terminal['io']['stdout'], bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(bytes, (error) => {
      if (error == null) resolve()
      else reject(failed(`the backup is incomplete: standard output: ${error.message}`))
    })
  })
}

function showBackup(
  { file, manifest, deleted, unnoted }: Backup,
  { file: to, keep }: Order,
): Shown {
  const isStream = to === STDOUT
  const content = describeBackup(manifest)
  return {
    json: manifest,
    lines: isStream ? [] : [`${file} is written and verified: ${content}`],
    notes: [
      ...(isStream ? [`the backup is written: ${content}`] : []),
      ...(unnoted === undefined
        ? []
        : [`nothing in DATA_DIR says that this backup was made: ${unnoted}`]),
      ...(deleted.length > 0 ? [`deleted, as ${keep} are kept: ${deleted.join(', ')}`] : []),
      ...(manifest.files['measurements.db'] === undefined
        ? [`the measurements are in ${manifest.store}, which needs its own backup: take that first`]
        : []),
    ],
  }
}
