// Where a command is typed: what it was given, and how it answers. Texts and tables are for
// people, JSON for programs. Much of it was chosen by callers of the service, and none of it may do
// more on a terminal than be read.

import type { Readable, Writable } from 'node:stream'
import type { Shown, Table } from '../../commands/command.ts'
import type { Overrides } from '../../compose.ts'
import { logForm } from '../../config-environment.ts'
import type { Environment } from '../../config-settings.ts'
import { escaped } from '../../domain/escaped.ts'
import { formatSecond } from '../../domain/time.ts'
import { priorityOf } from '../../system/log.ts'
import { OWN_COMMAND } from '../../system/own-command.ts'
import { qrCode, reachOf } from './link.ts'

/** What callers send may be megabytes; rows beside it are not made as long. */
const COLUMN_CHARACTERS_MAX = 200

interface Of {
  readonly isTTY?: boolean
  readonly fd?: number
}

/** What a command is given besides its arguments: that of a process, or another. */
export interface Io {
  readonly stdin: Readable & Of
  readonly stdout: Writable & Of
  readonly stderr: Writable & Of
  readonly env: Environment
  /** How a command that opens the data starts the threads that write. */
  readonly startThread?: Overrides['startThread']
}

/** A text of several lines, `escaped`. */
function escapedLines(text: string): string {
  return text.split('\n').map(escaped).join('\n')
}

/** A text in which commands are called as people can type them here. */
export function asTypedHere(text: string): string {
  return text.replace(/(?<=^|[\s`(])thermolog(?= [a-z[<…-])/gm, OWN_COMMAND)
}

export class Terminal {
  readonly io: Io

  constructor(io: Io) {
    this.io = io
  }

  /** Whether progress and questions have somebody to see them. */
  get isWatched(): boolean {
    return this.io.stderr.isTTY === true
  }

  /** A result, on standard output. @param text may have several lines */
  print(text: string): void {
    this.io.stdout.write(`${escapedLines(text)}\n`)
  }

  /** What is said beside the result, on standard error. @param text may have several lines */
  note(text: string): void {
    this.io.stderr.write(`${escapedLines(asTypedHere(text))}\n`)
  }

  /** Why a command failed, or what looks wrong. @param text may have several lines */
  say(text: string, level: 'warn' | 'error'): void {
    const priority = logForm(this.io, 'stderr') === 'journal' ? priorityOf(level) : ''
    this.io.stderr.write(`thermolog: ${escapedLines(text)}\n`.replace(/^(?!$)/gm, priority))
  }

  /** @throws OperationError if it has failed nevertheless */
  show(
    { json, lines = [], link, notes = [], remarks = [], failure }: Shown,
    isJson: boolean,
  ): void {
    if (isJson) {
      // JSON itself escapes only some of it.
      this.print(JSON.stringify(json, null, 2))
    } else {
      for (const line of lines) {
        if (typeof line === 'string') this.print(line)
        else this.#printTable(line)
      }
      if (link !== undefined && this.isWatched) this.io.stderr.write(qrCode(link))
      if (link !== undefined) this.print(link)
    }
    for (const note of notes) this.note(note)
    if (!isJson) {
      for (const remark of remarks) this.note(remark)
      if (link !== undefined) this.io.stderr.write(reachOf(link))
    }
    if (failure !== undefined) throw failure
  }

  /** Columns are as wide as their contents, to a point. */
  #printTable({ rows, whenEmpty }: Table): void {
    const [first] = rows
    if (first === undefined) return this.print(asTypedHere(whenEmpty))
    const header = Object.keys(first)
    const values = rows.map((row) => header.map((name) => escaped(String(row[name] ?? '–'))))
    const cells = [header, ...values]
    const widths = header.map((_, column) => {
      const lengths = cells.map((row) => row[column]?.length ?? 0)
      return Math.min(Math.max(...lengths), COLUMN_CHARACTERS_MAX)
    })
    for (const row of cells) {
      const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
      this.io.stdout.write(`${line.trimEnd()}\n`)
    }
  }
}

/** A time from a document of ours, as people read it. */
export function readableTime(instant: string): string {
  return formatSecond(Date.parse(instant))
}
