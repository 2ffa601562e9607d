// How figures are told.

export interface Figure {
  readonly name: string
  readonly ours: string
  readonly yardstick: string
  /** Ours in terms of the yardstick. */
  readonly ratio: string
}

const COLUMNS = ['name', 'ours', 'yardstick', 'ratio'] as const

export function printTable(figures: readonly Figure[]): void {
  const head = { name: 'figure', ours: 'Thermolog', yardstick: 'yardstick', ratio: 'ratio' }
  const rows = [head, ...figures]
  const widths = COLUMNS.map((column) => Math.max(...rows.map((row) => row[column].length)))
  for (const row of rows) {
    const cells = COLUMNS.map((column, at) => row[column].padEnd(widths[at] ?? 0))
    process.stdout.write(`${cells.join('  ').trimEnd()}\n`)
  }
}

/** Says on standard error what is being measured. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

export function perSecond(count: number): string {
  return `${Math.round(count).toLocaleString('en')}/s`
}

export function milliseconds(duration: number): string {
  return `${duration.toFixed(1)} ms`
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}
