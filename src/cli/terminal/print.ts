// What commands print: tables for people, JSON for programs.

/** One JSON document. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

/**
 * A table with a header row; columns are as wide as their contents.
 *
 * @param rows members in the order of the columns; all have the same
 * @param whenEmpty printed if there are no rows
 */
export function printTable(
  rows: readonly Readonly<Record<string, string | number | null>>[],
  whenEmpty: string,
): void {
  const [first] = rows
  if (first === undefined) {
    process.stdout.write(`${whenEmpty}\n`)
    return
  }
  const header = Object.keys(first)
  const cells = [header, ...rows.map((row) => header.map((name) => String(row[name] ?? '–')))]
  const widths = header.map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  )
  for (const row of cells) {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
    process.stdout.write(`${line.trimEnd()}\n`)
  }
}

/** `1 sensor`, `13 sensors`, `113,924 measurements`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}
