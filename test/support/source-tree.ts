// The repository as text, for the house rules: every file once, the imports of the sources. It
// needs no parser: Prettier gives imports one form, so regular expressions read them all.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface SourceFile {
  /** Relative to the repository, with `/`. */
  readonly path: string
  readonly text: string
  readonly lines: readonly string[]
}

export interface Import {
  readonly line: number
  /** As written. */
  readonly specifier: string
  /** Path in the repository of what is imported, or `undefined` for a package. */
  readonly target: string | undefined
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SKIPPED = new Set(['node_modules', '.git', 'data', 'coverage'])
const TEXT = /\.(ts|js|json|md|yml|yaml|html|css|sh|toml|cfg)$|^(\.ci|bin)\/|^\.[a-z]+$|LICENSE$/
const IMPORT_FORMS = [
  /^(?:import|export)\b[^'"`;]*?\bfrom '([^']+)'/.source,
  /^import '([^']+)'/.source,
  /\bimport\('([^']+)'\)/.source,
  /\bimport\.meta\.resolve\('([^']+)'\)/.source,
  /\bnew URL\('([^']+\.[jt]s)', import\.meta\.url\)/.source,
]
const IMPORT = new RegExp(IMPORT_FORMS.join('|'), 'gm')

/** Every text file of the repository, by path. */
export function readRepository(): SourceFile[] {
  const paths: string[] = []
  collect('', paths)
  return paths
    .filter((path) => TEXT.test(path))
    .toSorted()
    .map((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8')
      return { path, text, lines: text.split('\n') }
    })
}

function collect(folder: string, paths: string[]): void {
  for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (SKIPPED.has(entry.name)) continue
    if (entry.isDirectory()) collect(path, paths)
    else if (entry.isFile()) paths.push(path)
  }
}

/** What a source file imports, re-exports, or starts as a worker thread. */
export function importsOf(file: SourceFile): Import[] {
  return [...file.text.matchAll(IMPORT)].map((match) => {
    const specifier = match.slice(1).find((group) => group !== undefined) ?? ''
    const target = specifier.startsWith('.')
      ? normalize(join(dirname(file.path), specifier))
      : undefined
    return { line: lineAt(file.text, match.index), specifier, target }
  })
}

/** The 1-based line of a position in a text. */
export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}

/** Every match of a pattern in the lines of a file, as `path:line`. */
export function findLines(file: SourceFile, pattern: RegExp): string[] {
  return file.lines.flatMap((line, index) =>
    pattern.test(line) ? [`${file.path}:${index + 1}`] : [],
  )
}
