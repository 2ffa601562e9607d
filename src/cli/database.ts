// `thermolog database`: looks at the server of DATABASE_URL, brings its schema or the files of a
// DATA_DIR up to date, and marks data as restored.

import type { Command } from 'commander'
import { failed, usage } from '../operations/operations.ts'
import type { Config, DatabaseConfig } from '../config.ts'
import { example } from './arguments.ts'
import { onceFree } from './open-operations.ts'
import { readSettings, readSettingsWithData } from './read-settings.ts'
import { ByteProgress } from './terminal/progress.ts'
import { printNote, printText } from './terminal/print.ts'

const DATABASE = 'DATABASE_URL=postgresql://thermolog@db/thermolog thermolog database'

export function addCommands(program: Command): void {
  const database = program
    .command('database')
    .description('look after a database in PostgreSQL, or the files in DATA_DIR')
    .addHelpText('after', example(`${DATABASE} check`))
  database
    .command('check')
    .description('check whether the server is safe to use, with remedies')
    .addHelpText('after', example(`${DATABASE} check`))
    .action(check)
  database
    .command('migrate')
    .description('create or update the tables while processes run')
    .option('--backup <file>', 'without DATABASE_URL: where to keep the files as they were')
    .addHelpText(
      'after',
      '\nWithout DATABASE_URL it brings the files in DATA_DIR up to date, as `thermolog serve`' +
        '\ndoes at its start, after a backup of them: in DATA_DIR/before-upgrade, or in FILE.' +
        `\n${example(`${DATABASE} migrate`)}`,
    )
    .action(applyMigrations)
  database
    .command('restored')
    .description('mark the data as restored from a copy (`restore` does this itself)')
    .addHelpText(
      'after',
      '\nIds skip ahead, and daemons are told to send again what came after the copy.' +
        '\nWithout DATABASE_URL it is the files in DATA_DIR, which no service may use meanwhile.' +
        `\n${example(`${DATABASE} restored`)}`,
    )
    .action(declare)
}

async function check(): Promise<void> {
  const database = await readDatabase()
  const { checkDatabase } = await import('../data-dir/database-server.ts')
  const { version, faults, warnings } = await checkDatabase(database)
  for (const warning of warnings) printText(`warning: ${warning}`)
  if (faults.length > 0) throw failed(`PostgreSQL ${version} cannot be used`, faults.join('\n'))
  printText(`PostgreSQL ${version} can be used, with DURABILITY=${database.durability}`)
}

async function applyMigrations({ backup }: { readonly backup?: string }): Promise<void> {
  const config = await readSettingsWithData()
  if (config.database === undefined) return upgradeFiles(config, backup)
  if (backup !== undefined) {
    throw usage('DATABASE_URL is set, and --backup is for a DATA_DIR', 'Use pg_dump.')
  }
  const { migrateDatabase } = await import('../data-dir/database-server.ts')
  const versions = await migrateDatabase(config.database)
  if (versions.length === 0) printText('the schema is up to date')
  else printText(`the schema has version ${versions.at(-1)} now`)
}

async function upgradeFiles(config: Config, target: string | undefined): Promise<void> {
  if (target === '-') throw usage('--backup wants a file, not -')
  const { upgradeDataDir } = await import('../data-dir/upgrade.ts')
  const progress = new ByteProgress()
  try {
    const backup = await onceFree(() => upgradeDataDir(config, target, progress))
    progress.end()
    if (backup !== undefined) printNote(`the files as they were are kept in ${backup}`)
    printText('the files in DATA_DIR are up to date')
  } finally {
    progress.end()
  }
}

async function declare(): Promise<void> {
  const config = await readSettingsWithData()
  const { declareRestored } = await import('../data-dir/declare-restored.ts')
  await declareRestored(config)
  printText('the data have a new id; what was revoked or deleted since the copy was made is back')
}

async function readDatabase(): Promise<DatabaseConfig> {
  const { database } = await readSettings()
  if (database !== undefined) return database
  throw usage('DATABASE_URL is missing', `For example: ${DATABASE} check`)
}
