// `thermolog restore`: a DATA_DIR from a backup.

import { readText } from '../commands/arguments.ts'
import { flag, required } from '../commands/command.ts'
import { grouped } from '../domain/grouped.ts'
import { describeBackup, INSTEAD } from './describe-backup.ts'
import { localCommand } from './local-command.ts'
import { readSettings, readSettingsOfFiles } from './read-settings.ts'
import { ByteProgress } from './terminal/progress.ts'
import { readableTime } from './terminal/terminal.ts'

export const commands = [
  localCommand({
    path: 'restore',
    help: 'restore a backup into an empty DATA_DIR',
    example: 'DATA_DIR=./new thermolog restore thermolog-2026-11-20.tar --revoke-tokens',
    json: 'print its manifest as JSON',
    arguments: {
      file: required('<file>', 'a file written by `thermolog backup`', readText),
      revokeTokens: flag(
        '--revoke-tokens',
        'revoke all tokens; otherwise tokens revoked since the backup work again',
      ),
    },
    run: async (terminal, { file, revokeTokens: isRevoking }) => {
      const config = await readSettingsOfFiles(() => readSettings(terminal), INSTEAD)
      const { restoreBackup } = await import('../data-dir/restore.ts')
      const progress = new ByteProgress(terminal)
      try {
        const restored = await restoreBackup(config, file, { isRevoking, progress })
        return { ...restored, dataDir: config.dataDir }
      } finally {
        progress.end()
      }
    },
    present: ({ manifest, liveTokens, dataDir }) => ({
      json: manifest,
      lines: [
        `restored into ${dataDir}: ${describeBackup(manifest)}, ` +
          `taken at ${readableTime(manifest.taken_at)}`,
      ],
      notes:
        liveTokens > 0
          ? [
              'tokens work as when the backup was taken, even if revoked since ' +
                `(${grouped(liveTokens)} in all; --revoke-tokens revokes them)`,
            ]
          : [],
    }),
  }),
] as const
