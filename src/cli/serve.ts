// `thermolog serve`: runs the service until it is told to stop.

import { isIP } from 'node:net'
import { linkUrl } from '../access/sign-in-links.ts'
import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { usage } from '../operations/check-arguments.ts'
import { failed } from '../operations/operations.ts'
import type { OperationError } from '../operations/operations.ts'
import { ServiceManager } from '../system/service-manager.ts'
import { example } from './arguments.ts'
import { readSettings } from './read-settings.ts'
import { qrCode, reachOf } from './terminal/link.ts'
import type { Service } from '../compose.ts'

const CHOOSE_HOST = 'Set HOST to 127.0.0.1 for this machine alone, or 0.0.0.0 for all addresses.'

export function addCommands(program: Command): void {
  program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT, with settings from the environment')
    .addHelpText('after', example('PORT=8080 DATA_DIR=./data thermolog serve'))
    .action(serve)
}

async function serve(): Promise<void> {
  process.title = 'thermolog'
  const config = await readSettings()
  const manager = new ServiceManager(config.serviceManager)
  manager.noteStarting()
  // Imported only here: other commands start faster without the whole service.
  const { createService } = await import('../compose.ts')
  const service = await createService(config)
  const stopped = signalled()
  try {
    const { url } = await service.start().catch((error: NodeJS.ErrnoException) => {
      throw listenFailure(error, config) ?? error
    })
    manager.noteReady(() => service.describe())
    await welcome(service, config.port === 0 ? url + config.basePath : config.publicUrl)
    await stopped
  } finally {
    manager.noteStopping()
    await service.stop()
  }
}

/** Where nobody can sign in yet, says on a terminal how to begin: the log never has the link. */
async function welcome(service: Service, publicUrl: string): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return
  const code = await service.createFirstLink()
  if (code === undefined) return
  const url = linkUrl(publicUrl, code)
  const intro = 'There is no user yet. Open this link to become the first one:'
  process.stderr.write(`\n${intro}\n\n  ${url}\n\n${qrCode(url)}${reachOf(url)}\n`)
}

/** The fault in PORT or HOST, if it keeps the service from listening. */
function listenFailure(
  { code, syscall, address = '' }: NodeJS.ErrnoException & { readonly address?: string },
  { host, port }: Config,
): OperationError | undefined {
  if (syscall === 'getaddrinfo') {
    return failed(`HOST ${host} is not a known host name (${code})`, CHOOSE_HOST)
  }
  // The address of the socket for commands is a path.
  if (syscall !== 'listen' || isIP(address) === 0) return undefined
  if (code === 'EADDRINUSE') {
    const hint = 'Set PORT to a free port (0 picks one), or stop the other process.'
    return failed(`PORT ${port} of ${host} is already in use`, hint)
  }
  if (code === 'EADDRNOTAVAIL') {
    return failed(`HOST ${host} is not an address of this machine`, CHOOSE_HOST)
  }
  if (code !== 'EACCES') return undefined
  return usage(`PORT ${port} may not be used (${code})`, 'Set PORT to one above 1023.')
}

function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
}
