// What the process was given: its environment, and the `.env` file in its working directory. Only
// this file reads the environment.

import { fstatSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { isatty } from 'node:tty'
import { parseEnv } from 'node:util'
import { ConfigError } from './config-settings.ts'
import type { Environment } from './config-settings.ts'

/**
 * The environment of the process, over the `.env` file in its working directory, unless it has the
 * settings of the service.
 */
export function readEnvironment(): Environment {
  const { ofTerminal, ofFile } = readBesides()
  return { ...ofTerminal, ...ofFile, ...process.env }
}

/** What of `readEnvironment` is not from the environment itself: the file, or what it is. */
export function readSources(): Environment {
  const { ofTerminal, ofFile } = readBesides()
  return {
    ...allFrom(ofTerminal, 'default at a terminal'),
    ...allFrom(ofFile, resolve('.env')),
    ...allFrom(process.env),
    // `NAME=FILE`, line by line.
    ...parseEnv(process.env['SETTINGS_FROM'] ?? ''),
  }
}

function allFrom(values: Environment, source?: string): Environment {
  return Object.fromEntries(Object.keys(values).map((name) => [name, source]))
}

/** Whether a command of root has the settings of the service that is installed. */
function hasServiceSettings(): boolean {
  return process.env['SETTINGS_FROM'] !== undefined
}

/**
 * What the units of that service have besides settings, `MemoryHigh`, `MemoryMax` and
 * `ListenStream`, which this user may not be allowed to read.
 */
export function readServiceUnits(): Environment | undefined {
  const units = process.env['SERVICE_UNITS']
  return units === undefined ? undefined : parseEnv(units)
}

function readBesides(): { readonly ofTerminal: Environment; readonly ofFile: Environment } {
  return {
    // What `info` would say there, `serve` says itself.
    ofTerminal: logForm(1) === 'terminal' ? { LOG_LEVEL: 'warn' } : {},
    ofFile: hasServiceSettings() ? {} : readEnvFile('.env'),
  }
}

/** What standard output (1) or error (2) is: journald, a terminal with a person, or anything. */
export function logForm(stream: 1 | 2): 'journal' | 'terminal' | 'json' {
  const { dev, ino } = fstatSync(stream)
  if (process.env['JOURNAL_STREAM'] === `${dev}:${ino}`) return 'journal'
  return isatty(0) && isatty(stream) ? 'terminal' : 'json'
}

function readEnvFile(file: string): Environment {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || (code === 'EACCES' && !isOurs(file))) return {}
    throw new ConfigError([
      `${resolve(file)} cannot be read (${code}): make it readable or move it`,
    ])
  }
}

/**
 * Whether the file belongs to the user of this process. A command run as another user (`sudo -u
 * thermolog …`) starts in the folder of the person who typed it.
 */
function isOurs(file: string): boolean {
  try {
    return statSync(file).uid === process.getuid?.()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return false
    throw error
  }
}
