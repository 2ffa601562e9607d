// The command blocks of the documents, as they are written there. A fenced block is meant to be
// typed if its language is that of a shell; `text` is for drawings, output and messages.

import { readRepository } from './source-tree.ts'

export interface CommandBlock {
  /** Path of the Markdown file. */
  readonly document: string
  readonly line: number
  readonly commands: string
  /** Document and beginning of the first command: which one is meant, wherever it moves. */
  readonly name: string
}

interface Fence {
  readonly document: string
  readonly line: number
  readonly language: string
  readonly text: string
}

const NAME_CHARACTERS_MAX = 60
const SHELLS = new Set(['sh', 'bash', 'shell', 'console'])

/** Those of all documents, in the order of each. */
export function readCommandBlocks(): CommandBlock[] {
  return readFences()
    .filter(({ language }) => SHELLS.has(language))
    .map(({ document, line, text }) => {
      const firstCommand = text.split('\n').find((typed) => !typed.startsWith('#')) ?? ''
      return {
        document,
        line,
        commands: text,
        name: `${document}: ${firstCommand.slice(0, NAME_CHARACTERS_MAX)}`,
      }
    })
}

/** The fenced blocks that do not say what they are, as `path:line`. */
export function fencesWithoutLanguage(): string[] {
  return readFences()
    .filter(({ language }) => language === '')
    .map(({ document, line }) => `${document}:${line}`)
}

function readFences(): Fence[] {
  const documents = readRepository().filter(({ path }) => path.endsWith('.md'))
  return documents.flatMap(({ path, lines }) => {
    const fences: Fence[] = []
    let openedAt: number | undefined
    for (const [at, line] of lines.entries()) {
      if (!/^ *(```|~~~)/.test(line)) continue
      if (openedAt !== undefined) {
        const language = (lines[openedAt] ?? '').trim().slice(3).trim()
        const text = lines.slice(openedAt + 1, at).join('\n')
        fences.push({ document: path, line: openedAt + 1, language, text })
      }
      openedAt = openedAt === undefined ? at : undefined
    }
    return fences
  })
}
