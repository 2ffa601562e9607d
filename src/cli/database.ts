// `thermolog database`: looks at the server of DATABASE_URL, brings its schema or the files of a
// DATA_DIR up to date, and marks data as restored.

import { optional } from '../commands/command.ts'
import { readText } from '../commands/arguments.ts'
import type { Config } from '../config.ts'
import { failed, usage } from '../operations/failure.ts'
import { localCommand } from './local-command.ts'
import { onceFree } from './operator-command.ts'
import { readSettings, readSettingsWithData } from './read-settings.ts'
import { ByteProgress } from './terminal/progress.ts'
import type { Terminal } from './terminal/terminal.ts'

const DATABASE = 'DATABASE_URL=postgresql://thermolog@db/thermolog thermolog database'

const check = localCommand({
  path: 'database check',
  help: 'check whether the server is safe to use, with remedies',
  example: `${DATABASE} check`,
  arguments: {},
  run: async (terminal) => {
    const { database } = await readSettings(terminal)
    if (database === undefined) {
      throw usage('DATABASE_URL is missing', `For example: ${DATABASE} check`)
    }
    const { checkDatabase } = await import('../data-dir/database-server.ts')
    return { ...(await checkDatabase(database)), durability: database.durability }
  },
  present: ({ version, faults, warnings, durability }) => {
    const warned = warnings.map((warning) => `warning: ${warning}`)
    if (faults.length > 0) {
      const failure = failed(`PostgreSQL ${version} cannot be used`, faults.join('\n'))
      return { lines: warned, failure }
    }
    return {
      lines: [...warned, `PostgreSQL ${version} can be used, with DURABILITY=${durability}`],
    }
  },
})

const migrate = localCommand({
  path: 'database migrate',
  help: 'create or update the tables while processes run',
  details:
    'Without DATABASE_URL it brings the files in DATA_DIR up to date, as `thermolog serve`\n' +
    'does at its start, after a backup of them: in DATA_DIR/before-upgrade, or in FILE.',
  example: `${DATABASE} migrate`,
  arguments: {
    backup: optional(
      '--backup <file>',
      'without DATABASE_URL: where to keep the files as they were',
      readText,
    ),
  },
  run: async (terminal, { backup }) => {
    const config = await readSettingsWithData(terminal)
    if (config.database === undefined) return upgradeFiles(terminal, config, backup)
    if (backup !== undefined) {
      throw usage('DATABASE_URL is set, and --backup is for a DATA_DIR', 'Use pg_dump.')
    }
    const { migrateDatabase } = await import('../data-dir/database-server.ts')
    const newest = (await migrateDatabase(config.database)).at(-1)
    const done =
      newest === undefined ? 'the schema is up to date' : `the schema has version ${newest} now`
    return { done, kept: undefined }
  },
  present: ({ done, kept }) => ({
    lines: [done],
    notes: kept === undefined ? [] : [`the files as they were are kept in ${kept}`],
  }),
})

const restored = localCommand({
  path: 'database restored',
  help: 'mark the data as restored from a copy (`restore` does this itself)',
  details:
    'Ids skip ahead, and daemons are told to send again what came after the copy.\n' +
    'Without DATABASE_URL it is the files in DATA_DIR, which no service may use meanwhile.',
  example: `${DATABASE} restored`,
  arguments: {},
  run: async (terminal) => {
    const config = await readSettingsWithData(terminal)
    const { declareRestored } = await import('../data-dir/declare-restored.ts')
    await declareRestored(config)
  },
  present: () => ({
    lines: ['the data have a new id; what was revoked or deleted since the copy was made is back'],
  }),
})

export const commands = [check, migrate, restored] as const

async function upgradeFiles(terminal: Terminal, config: Config, target: string | undefined) {
  if (target === '-') throw usage('--backup wants a file, not -')
  const { upgradeDataDir } = await import('../data-dir/upgrade.ts')
  const progress = new ByteProgress(terminal)
  try {
    const kept = await onceFree(terminal, () => upgradeDataDir(config, target, progress))
    return { done: 'the files in DATA_DIR are up to date', kept }
  } finally {
    progress.end()
  }
}
