// DATA_DIR as a command's own: all that the service opens, without a word on standard output, which
// belongs to the command.

import { logForm } from '../config-environment.ts'
import type { Config } from '../config.ts'
import { openEngine } from '../core/open-engine.ts'
import type { Core, System } from '../core/open-core.ts'
import type { Log } from '../ports/system.ts'
import { systemClock } from '../system/clock.ts'
import { createLog, standardError } from '../system/log.ts'

/** A command says what goes wrong on standard error, in the service's form. */
export function commandLog(): Log {
  const of = { level: 'error', component: 'command', form: logForm(process, 'stderr') } as const
  return createLog(systemClock, of, standardError)
}

/**
 * Without a database DATA_DIR is locked; in a database other processes go on, and it is they who
 * forward, unless this command is to help.
 *
 * @throws UnfitSettings @throws UnfitDataDir
 */
export function openOwn(
  config: Config,
  { isForwarding = false, startThread }: Partial<Omit<System, 'clock' | 'log'>> = {},
): Promise<Core> {
  // Threads log to standard output.
  const quiet = { ...config, logLevel: 'silent' } as const
  return openEngine(quiet, { clock: systemClock, log: commandLog(), isForwarding, startThread })
}
