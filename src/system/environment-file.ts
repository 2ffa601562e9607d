// Reads an `EnvironmentFile=` as systemd does, which is neither as a shell nor as Node would read
// it: a `#` within a line, a `$` and a backtick are themselves, and quotes count only where a value
// or its next part begins.

const ASSIGNMENT = /[ \t\r\n]*(?:[#;][^\r\n]*|([^=\r\n]*)=?)/y
const QUOTED = /[ \t]*(?:'([^']*)'?|"((?:\\[^]|[^"\\])*)"?)/y
/** A backslash stands for what follows it; before a line's end, for nothing. */
const PLAIN = /[ \t]*((?:\\[^]?|[^\r\n\\])*)/y
const NAME = /^[A-Za-z_]\w*$/

/** @returns the last value of each name; what is no assignment is passed over */
export function parseEnvironmentFile(text: string): Record<string, string> {
  const environment: Record<string, string> = {}
  for (let at = 0; at < text.length;) {
    const [line = '', key] = matchAt(ASSIGNMENT, text, at)
    at += line.length
    if (key === undefined || !line.endsWith('=')) continue
    const { value, end } = readValue(text, at)
    at = end
    if (NAME.test(key.trimEnd())) environment[key.trimEnd()] = value
  }
  return environment
}

function readValue(text: string, start: number): { value: string; end: number } {
  let value = ''
  let at = start
  for (;;) {
    const [part, single, double = ''] = matchAt(QUOTED, text, at)
    if (part === undefined) break
    value += single ?? double.replace(/\\(?:([`$"\\])|\n)/g, '$1')
    at += part.length
  }
  const [part = '', plain = ''] = matchAt(PLAIN, text, at)
  value += withoutSpacesAtEnd(plain).replace(/\\(?:[\r\n]|([^])|$)/g, '$1')
  return { value, end: at + part.length }
}

/** They are no part of a value, but for one that is behind a backslash. */
function withoutSpacesAtEnd(text: string): string {
  let end = text.length
  while (/^[ \t]$/.test(text.charAt(end - 1))) end--
  let backslashes = 0
  while (text.charAt(end - 1 - backslashes) === '\\') backslashes++
  return text.slice(0, end + (backslashes % 2))
}

function matchAt(pattern: RegExp, text: string, at: number): readonly (string | undefined)[] {
  pattern.lastIndex = at
  return pattern.exec(text) ?? []
}
