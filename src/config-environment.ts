// What a process was given: its environment, and the `.env` file in its working directory. Only
// this file reads the environment.

import { fstatSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { ConfigError } from './config-settings.ts'
import type { Environment } from './config-settings.ts'

interface Stream {
  readonly isTTY?: boolean
  /** `undefined`: it is none of the process. */
  readonly fd?: number
}

/** What settings depend on: `process`, or what a caller gives instead. */
interface Process {
  readonly env: Environment
  readonly stdin: Stream
  readonly stdout: Stream
  readonly stderr: Stream
}

/**
 * The environment of the process, over the `.env` file in its working directory, unless it has the
 * settings of the service.
 */
export function readEnvironment(of: Process): Environment {
  const { ofTerminal, ofFile } = readBesides(of)
  return { ...ofTerminal, ...ofFile, ...of.env }
}

/** What of `readEnvironment` is not from the environment itself: the file, or what it is. */
export function readSources(of: Process): Environment {
  const { ofTerminal, ofFile } = readBesides(of)
  return {
    ...allFrom(ofTerminal, 'default at a terminal'),
    ...allFrom(ofFile, resolve('.env')),
    ...allFrom(of.env),
    // `NAME=FILE`, line by line.
    ...parseEnv(of.env['SETTINGS_FROM'] ?? ''),
  }
}

function allFrom(values: Environment, source?: string): Environment {
  return Object.fromEntries(Object.keys(values).map((name) => [name, source]))
}

/** Whether a command of root has the settings of the service that is installed. */
function hasServiceSettings({ env }: Process): boolean {
  return env['SETTINGS_FROM'] !== undefined
}

/**
 * What the units of that service have besides settings, `MemoryHigh`, `MemoryMax` and
 * `ListenStream`, which this user may not be allowed to read.
 */
export function readServiceUnits({ env }: Process): Environment | undefined {
  const units = env['SERVICE_UNITS']
  return units === undefined ? undefined : parseEnv(units)
}

function readBesides(of: Process): {
  readonly ofTerminal: Environment
  readonly ofFile: Environment
} {
  return {
    // What `info` would say there, `serve` says itself.
    ofTerminal: logForm(of, 'stdout') === 'terminal' ? { LOG_LEVEL: 'warn' } : {},
    ofFile: hasServiceSettings(of) ? {} : readEnvFile('.env'),
  }
}

/** What standard output or error is: journald, a terminal with a person, or anything. */
export function logForm(of: Process, name: 'stdout' | 'stderr'): 'journal' | 'terminal' | 'json' {
  const { isTTY, fd } = of[name]
  const journal = of.env['JOURNAL_STREAM']
  if (journal !== undefined && fd !== undefined) {
    const { dev, ino } = fstatSync(fd)
    if (journal === `${dev}:${ino}`) return 'journal'
  }
  return isTTY === true && of.stdin.isTTY === true ? 'terminal' : 'json'
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
