// `thermolog serve`: runs the service until it is told to stop.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { linkUrl } from '../access/sign-in-links.ts'
import { logForm } from '../config-environment.ts'
import type { Config } from '../config.ts'
import { DataDirInUse, OtherFormat } from '../domain/errors.ts'
import { isOfThisMachine } from '../domain/secure-url.ts'
import { failed, OperationError } from '../operations/failure.ts'
import { listenFailure } from '../system/listen-failure.ts'
import { ServiceManager } from '../system/service-manager.ts'
import { localCommand } from './local-command.ts'
import { connectService, onceFree } from './operator-command.ts'
import { readSettings } from './read-settings.ts'
import { namedUrl, qrCode } from './terminal/link.ts'
import type { Terminal } from './terminal/terminal.ts'
import type { Service } from '../compose.ts'

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

export const commands = [
  localCommand({
    path: 'serve',
    help: 'run the service until SIGTERM or SIGINT, with settings from the environment',
    example: 'PORT=8080 DATA_DIR=./data thermolog serve',
    arguments: {},
    run: serve,
  }),
] as const

async function serve(terminal: Terminal): Promise<void> {
  const config = await readSettings(terminal)
  const manager = new ServiceManager(config.serviceManager)
  manager.noteStarting()
  // Imported only here: other commands start faster without the whole service.
  const { createService } = await import('../compose.ts')
  const { startThread } = terminal.io
  const create = (of: Config) => createService(of, { startThread })
  const service = await onceFree(terminal, () => createAlone(create, config))
  const { stopped, forget } = listenForStop()
  try {
    const { url } = await service.start().catch((error: NodeJS.ErrnoException) => {
      const failure = listenFailure(error, config)
      throw failure === undefined ? error : new OperationError(failure)
    })
    manager.noteReady(() => service.describe())
    await welcome(terminal, service, config, reachedAt(config, url))
    await stopped
  } finally {
    manager.noteStopping()
    // Until then a second signal of another kind is not to end the process.
    await service.stop().finally(forget)
  }
}

/** @throws OperationError if a service has DATA_DIR; a command has it for a moment only */
async function createAlone(
  create: (config: Config) => Promise<Service>,
  config: Config,
): Promise<Service> {
  try {
    return await createUpToDate(create, config)
  } catch (error) {
    if (!(error instanceof DataDirInUse)) throw error
    const running = await connectService(config)
    if (running === undefined) throw error
    await running.close()
    throw failed(error.message)
  }
}

/** @throws UnfitDataDir if a newer version has written the files */
async function createUpToDate(
  create: (config: Config) => Promise<Service>,
  config: Config,
): Promise<Service> {
  try {
    return await create(config)
  } catch (error) {
    if (!(error instanceof OtherFormat)) throw error
    const { isUpgradeDue } = await import('../data-dir/upgrade.ts')
    if (await isUpgradeDue(config.dataDir)) await upgradeFiles()
    return create(config)
  }
}

/**
 * A process of its own brings the files up to date, for minutes perhaps; this one tells systemd
 * meanwhile that the start goes on.
 */
async function upgradeFiles(): Promise<void> {
  const thermolog = [...process.execArgv, ...process.argv.slice(1, 2)]
  const order = [...thermolog, 'database', 'migrate']
  const upgrade = spawn(process.execPath, order, { stdio: ['ignore', 2, 2] })
  const [exitCode] = (await once(upgrade, 'exit')) as [number | null]
  if (exitCode !== 0) throw failed('the files in DATA_DIR could not be brought up to date')
}

/** Where people reach the service, which may have picked its port itself. */
function reachedAt({ publicUrl }: Config, boundUrl: string): string {
  const url = new URL(publicUrl)
  if (url.port === '0') url.port = new URL(boundUrl).port
  return url.href.replace(/\/$/, '')
}

/**
 * Says on a terminal where everything is and, where nobody can sign in yet, how to begin: the log
 * never has the link.
 */
async function welcome(
  { io }: Terminal,
  service: Service,
  config: Config,
  url: string,
): Promise<void> {
  const stream = (['stdout', 'stderr'] as const).find((each) => logForm(io, each) === 'terminal')
  if (stream === undefined) return
  const place = config.database === undefined ? resolve(config.dataDir) : 'the database'
  const code = await service.createFirstLink()
  const link = code === undefined ? '' : linkUrl(url, code)
  const begin = link === '' ? '' : `${qrCode(link)}Become its first user: ${link}\n`
  io[stream].write(`Thermolog is at ${url}${besides(url)}\nData are kept in ${place}\n${begin}`)
}

/** What else to know about an address. */
function besides(url: string): string {
  if (isOfThisMachine(url)) return ' (only this machine can open it)'
  const named = namedUrl(url)
  return named === undefined ? '' : ` or ${named}`
}

/** The first signal that ends a service, and how to listen for none any more. */
function listenForStop() {
  const { promise: stopped, resolve: onSignal } = Promise.withResolvers<unknown>()
  for (const name of STOP_SIGNALS) process.once(name, onSignal)
  const forget = () => STOP_SIGNALS.forEach((name) => process.off(name, onSignal))
  return { stopped, forget }
}
