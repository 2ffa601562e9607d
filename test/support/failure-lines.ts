// A failed test in a few lines: file, name, the first lines of the error and its seed.

const ERROR_LINES_MAX = 4
const LINE_CHARACTERS_MAX = 200

export interface Failure {
  readonly file: string
  readonly title: string
  readonly err?: { readonly message?: string } | undefined
}

export function failureLines({ file, title, err }: Failure): string[] {
  const lines = (err?.message ?? 'no error').split('\n').filter((line) => line.trim() !== '')
  const first = lines.slice(0, ERROR_LINES_MAX)
  const seed = lines.slice(ERROR_LINES_MAX).find((line) => /\bseed\b/.test(line))
  const told = seed === undefined ? first : [...first, seed]
  return [`${file}: ${title}`, ...told.map((line) => `    ${line.slice(0, LINE_CHARACTERS_MAX)}`)]
}
