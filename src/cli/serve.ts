// `thermolog serve`: the service, until it is told to stop.

import type { Command } from 'commander'
import { loadConfig, readEnvironment } from '../config.ts'
import { example } from './example.ts'

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT; settings come from the environment')
    .addHelpText('after', example('PORT=8080 DATA_DIR=./data thermolog serve'))
    .action(serve)
}

async function serve(): Promise<void> {
  const config = loadConfig(readEnvironment())
  // Only here: the other commands start faster without the whole service.
  const { createService } = await import('../compose.ts')
  const service = await createService(config)
  const stopped = signalled()
  try {
    await service.start()
    await stopped
  } finally {
    await service.stop()
  }
}

function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
}
