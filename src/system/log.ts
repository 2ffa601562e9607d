// The log: one JSON line per event with time, level, component, message and the event's own fields
// in snake_case; at a terminal one line of text. Callers must never pass secrets.

import { escaped } from '../domain/escaped.ts'
import { formatInstant, formatSecond } from '../domain/time.ts'
import type { Clock, Log, LogFields } from '../ports/system.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

export interface LogSettings {
  /** Events below it are dropped. */
  readonly level: LogLevel
  /** The part of the service that logs. */
  readonly component: string
  readonly form: LogForm
}

/** What reads the lines; journald also reads their priorities. */
export type LogForm = 'json' | 'journal' | 'terminal'

/** What journald, as syslog, calls the levels. */
const PRIORITIES = { debug: 7, info: 6, warn: 4, error: 3 }

/** The beginning of a line for journald. */
export function priorityOf(level: keyof typeof PRIORITIES): string {
  return `<${PRIORITIES[level]}>`
}

/** Where lines go; each ends with a line feed. */
export type LogSink = (line: string) => void

export const standardOutput: LogSink = (line) => void process.stdout.write(line)

/** For commands, whose standard output is for their results. */
export const standardError: LogSink = (line) => void process.stderr.write(line)

export function createLog(clock: Clock, settings: LogSettings, sink: LogSink): Log {
  const lowest = LOG_LEVELS.indexOf(settings.level)
  function write(level: keyof typeof PRIORITIES, message: string, fields?: LogFields): void {
    if (LOG_LEVELS.indexOf(level) < lowest) return
    const nowMs = clock.nowMs()
    if (settings.form === 'terminal') {
      const text = `${formatSecond(nowMs)} ${level}: ${message}${described(fields)}`
      sink(`${escaped(text)}\n`)
      return
    }
    const time = formatInstant(nowMs)
    const event = { time, level, component: settings.component, message, ...fields }
    const priority = settings.form === 'journal' ? priorityOf(level) : ''
    // JSON itself escapes only some of what a terminal obeys.
    sink(`${priority}${escaped(JSON.stringify(event))}\n`)
  }
  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
  }
}

/** `, backlog_entries: 7` for each field. */
function described(fields: LogFields = {}): string {
  return Object.entries(fields)
    .map(([name, value]) => (value === undefined ? '' : `, ${name}: ${value}`))
    .join('')
}
