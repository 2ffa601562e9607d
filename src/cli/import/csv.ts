// CSV (RFC 4180, or with semicolons): turns lines of a file into records. A quoted cell may span
// several lines; in a cell that does not begin with a quote, quotes are text. An unclosed quote is
// the fault of the line that opens it: the following lines are read on their own, so one broken
// line costs one record.

export interface Line {
  /** From 1. */
  readonly number: number
  /** Without the line feed. */
  readonly text: string
}

export interface CsvRecordPlace {
  /** The number of its first line. */
  readonly line: number
  /** As in the file, without the line ending. */
  readonly raw: string
}

export type CsvRecord = CsvRecordPlace &
  (
    | { readonly cells: readonly string[]; readonly fault?: undefined }
    | { readonly cells?: undefined; readonly fault: string }
  )

export type Delimiter = ',' | ';'

const NEVER_CLOSED = 'a quote is never closed'
const CELLS: Readonly<Record<Delimiter, RegExp>> = {
  ',': /(?:"([^"]*(?:""[^"]*)*)"|((?!")[^,]*))(,|$)/y,
  ';': /(?:"([^"]*(?:""[^"]*)*)"|((?!")[^;]*))(;|$)/y,
}
const OPEN_QUOTE = /"[^"]*(?:""[^"]*)*$/y

/** The separator of a header: whichever of comma and semicolon is more frequent outside quotes. */
export function delimiterOf(header: string): Delimiter {
  const bare = header.replace(/"[^"]*"?/g, '')
  const semicolons = bare.split(';').length - 1
  return semicolons > 0 && semicolons >= bare.split(',').length - 1 ? ';' : ','
}

/** Combines lines into records. */
export class CsvRecords {
  readonly #delimiter: Delimiter
  readonly #charactersMax: number
  /** Lines of the unfinished record; all but the last leave a quote open. */
  #lines: Line[] = []

  /** @param charactersMax a quote that stays open for longer counts as unclosed */
  constructor(delimiter: Delimiter, charactersMax: number) {
    this.#delimiter = delimiter
    this.#charactersMax = charactersMax
  }

  /** @returns the records that end with this line */
  add(line: Line): CsvRecord[] {
    if (this.#lines.length === 0 && line.text.trim() === '') return []
    this.#lines.push(line)
    const raw = join(this.#lines)
    const parsed = parseRecord(raw, this.#delimiter)
    if (parsed.cells === undefined && parsed.isOpen) {
      return raw.length > this.#charactersMax ? this.#giveUp(parsed.fault) : []
    }
    if (parsed.cells === undefined) return this.#giveUp(parsed.fault)
    const { number } = this.#lines[0] ?? line
    this.#lines = []
    return [{ line: number, raw, cells: parsed.cells }]
  }

  /** @returns what is left at the end of the file */
  end(): CsvRecord[] {
    const records: CsvRecord[] = []
    while (this.#lines.length > 0) records.push(...this.#giveUp(NEVER_CLOSED))
    return records
  }

  /** The first line is broken; the others are read on their own. */
  #giveUp(fault: string): CsvRecord[] {
    const [first, ...others] = this.#lines
    this.#lines = []
    if (first === undefined) return []
    const isAlone = others.length === 0
    const broken = { line: first.number, raw: join([first]) }
    return [
      { ...broken, fault: isAlone ? fault : NEVER_CLOSED },
      ...others.flatMap((line) => this.add(line)),
    ]
  }
}

function join(lines: readonly Line[]): string {
  const text = lines.length === 1 ? lines[0]?.text : lines.map((line) => line.text).join('\n')
  return (text ?? '').replace(/\r$/, '')
}

type ParsedRecord =
  | { readonly cells: readonly string[] }
  | { readonly cells?: undefined; readonly isOpen: boolean; readonly fault: string }

function parseRecord(text: string, delimiter: Delimiter): ParsedRecord {
  if (!text.includes('"')) return { cells: text.split(delimiter) }
  const pattern = CELLS[delimiter]
  const cells: string[] = []
  let at = 0
  for (;;) {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match === null) return brokenAt(text, at)
    const [whole, quoted, plain = '', end] = match
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    at += whole.length
    if (end === '') return { cells }
  }
}

function brokenAt(text: string, at: number): ParsedRecord {
  OPEN_QUOTE.lastIndex = at
  const isOpen = OPEN_QUOTE.test(text)
  return { isOpen, fault: isOpen ? NEVER_CLOSED : 'a quote in the middle of a quoted cell' }
}
