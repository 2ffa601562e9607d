// A log that keeps what is said.

import type { Log, LogFields } from '../../src/ports/system.ts'

export interface LogEvent {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: LogFields
}

export class RecordingLog implements Log {
  readonly events: LogEvent[] = []

  debug(message: string, fields: LogFields = {}): void {
    this.events.push({ level: 'debug', message, fields })
  }

  info(message: string, fields: LogFields = {}): void {
    this.events.push({ level: 'info', message, fields })
  }

  warn(message: string, fields: LogFields = {}): void {
    this.events.push({ level: 'warn', message, fields })
  }

  error(message: string, fields: LogFields = {}): void {
    this.events.push({ level: 'error', message, fields })
  }

  /** Everything that was said, as one text. */
  get text(): string {
    return JSON.stringify(this.events)
  }
}
