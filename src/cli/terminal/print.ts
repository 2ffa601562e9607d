// What commands print: texts and tables for people, JSON for programs. Much of it was chosen by
// callers of the service, and none of it may do more on a terminal than be read.

import { escaped } from '../../domain/escaped.ts'
import { grouped } from '../../domain/grouped.ts'
import { formatSecond } from '../../domain/time.ts'
import { OWN_COMMAND } from '../../system/own-command.ts'

/** What callers send may be megabytes; rows beside it are not made as long. */
const COLUMN_CHARACTERS_MAX = 200

/** A text of several lines, `escaped`. */
export function escapedLines(text: string): string {
  return text.split('\n').map(escaped).join('\n')
}

/** A text in which commands are called as people can type them here. */
export function asTypedHere(text: string): string {
  return text.replace(/(?<=^|[\s`(])thermolog(?= [a-z[<…-])/gm, OWN_COMMAND)
}

/** A result, on standard output. @param text may have several lines */
export function printText(text: string): void {
  process.stdout.write(`${escapedLines(text)}\n`)
}

/** What is said beside the result, on standard error. @param text may have several lines */
export function printNote(text: string): void {
  process.stderr.write(`${escapedLines(asTypedHere(text))}\n`)
}

/** One JSON document. */
export function printJson(value: unknown): void {
  // JSON itself escapes only some of it.
  printText(JSON.stringify(value, null, 2))
}

/**
 * A table with a header row; columns are as wide as their contents, to a point.
 *
 * @param rows members in the order of the columns; all have the same
 * @param whenEmpty printed if there are no rows
 */
export function printTable(
  rows: readonly Readonly<Record<string, string | number | null>>[],
  whenEmpty: string,
): void {
  const [first] = rows
  if (first === undefined) return printText(asTypedHere(whenEmpty))
  const header = Object.keys(first)
  const values = rows.map((row) => header.map((name) => escaped(String(row[name] ?? '–'))))
  const cells = [header, ...values]
  const widths = header.map((_, column) => {
    const lengths = cells.map((row) => row[column]?.length ?? 0)
    return Math.min(Math.max(...lengths), COLUMN_CHARACTERS_MAX)
  })
  for (const row of cells) {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
    process.stdout.write(`${line.trimEnd()}\n`)
  }
}

/** `1 sensor`, `13 sensors`, `113,924 measurements`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** A time from a document of ours, as people read it. */
export function readableTime(instant: string): string {
  return formatSecond(Date.parse(instant))
}

/** The name of this machine's time zone. */
export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

/** `2026-11-20 11:15`, in the time zone of this machine. */
export function localMinute(atMs: number): string {
  return new Date(atMs).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short' })
}
