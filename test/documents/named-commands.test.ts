// Goal: the documents name only commands that exist, with options that exist, and all of them.
// Method: what they set as code and what they offer to type is looked up in the command line and
// in package.json.

import { expect } from 'chai'
import type { Command } from 'commander'
import { readFileSync } from 'node:fs'
import { allCommands } from '../../src/cli/main.ts'
import { readCommandBlocks } from '../support/command-blocks.ts'
import { lineAt, readRepository } from '../support/source-tree.ts'

interface Named {
  /** What follows `thermolog` or `npm run`. */
  readonly words: readonly string[]
  readonly at: string
}

const THERMOLOG = /(?:^|\$\(|npx |sudo |exec thermolog |\bbin\/)thermolog ([a-z-].*)/
const NPM_RUN = /\bnpm run ([\w:-]+)/
const CODE = /`([^`\n]+)`/g
const ANYWHERE = new Set(['--help', '--version'])

// What was named in an older version stays as it was.
const documents = readRepository().filter(
  ({ path }) => path.endsWith('.md') && path !== 'CHANGELOG.md',
)
const texts = [
  ...documents.flatMap(({ path, text }) =>
    [...text.matchAll(CODE)].map(({ 1: code = '', index }) => ({
      text: code,
      at: `${path}:${lineAt(text, index)}`,
    })),
  ),
  ...readCommandBlocks().flatMap(({ document, line, commands }) =>
    commands.split('\n').map((text, at) => ({ text, at: `${document}:${line + 1 + at}` })),
  ),
]

function named(pattern: RegExp): Named[] {
  return texts.flatMap(({ text, at }) => {
    const [, found] = pattern.exec(text) ?? []
    return found === undefined ? [] : [{ words: wordsOf(found), at }]
  })
}

/** Up to a comment, a pipe or the end of a substitution. */
function wordsOf(commandLine: string): string[] {
  const [command = ''] = commandLine.split(/ [#|>]|\)/)
  return command.split(' ').filter((word) => word !== '')
}

describe('the commands that the documents name', () => {
  let program: Command
  /** As `user create`. */
  let names: string[]

  before(async () => {
    program = await allCommands()
    names = program.commands.flatMap(namesOf)
  })

  it('exist, and so do their options', () => {
    const groups = program.commands.filter(({ commands }) => commands.length > 0)
    const shortForms = new RegExp(`^((?:${groups.map((group) => group.name()).join('|')}) .*)`)
    const all = [...named(THERMOLOG), ...named(shortForms)]
    expect(all).to.have.lengthOf.above(100)
    const faults = all.flatMap(({ words, at }) =>
      faultsOf(program, words).map((fault) => `${at}: thermolog ${words.join(' ')}: ${fault}`),
    )
    expect(faults).to.deep.equal([])
  })

  it('of npm exist', () => {
    const { scripts } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as { scripts: Record<string, string> }
    const all = named(NPM_RUN)
    expect(all).to.have.lengthOf.above(0)
    const missing = all.filter(({ words: [script = ''] }) => !Object.hasOwn(scripts, script))
    expect(missing).to.deep.equal([])
  })

  it('are all in the table of docs/operations.md', () => {
    const cells = firstCells('docs/operations.md')
    expect(names.filter((name) => !cells.some((cell) => startsWith(cell, name)))).to.deep.equal([])
  })

  it('are all in the table of README.md, which may name several of a group together', () => {
    const cells = firstCells('README.md')
    const inGroup = (name: string) => {
      const [group = '', command = ''] = name.split(' ')
      const isWhole = cells.includes(group)
      return isWhole || (cells.some((cell) => startsWith(cell, group)) && cells.includes(command))
    }
    const missing = names.filter(
      (name) => !cells.some((cell) => startsWith(cell, name)) && !inGroup(name),
    )
    expect(missing).to.deep.equal([])
  })
})

function namesOf(command: Command): string[] {
  if (command.commands.length === 0) return [command.name()]
  return command.commands.flatMap(namesOf).map((name) => `${command.name()} ${name}`)
}

function faultsOf(program: Command, words: readonly string[]): string[] {
  let command = program
  for (const word of words) {
    const next = command.commands.find((candidate) => candidate.name() === word)
    if (next === undefined) {
      const isName = command.commands.length > 0 && /^[a-z]/.test(word)
      if (isName) return [`there is no ${word}`]
      break
    }
    command = next
  }
  const options = words.flatMap((word) => /^--[a-z-]+(?=$|=)/.exec(word) ?? [])
  const unknown = options.filter(
    (option) => !ANYWHERE.has(option) && !command.options.some(({ long }) => long === option),
  )
  return unknown.map((option) => `there is no ${option}`)
}

/** What is set as code in the first cells of a document's tables. */
function firstCells(path: string): string[] {
  const lines = documents.find((document) => document.path === path)?.lines ?? []
  return lines
    .flatMap((line) => /^\| ([^|]*) \|/.exec(line)?.[1] ?? [])
    .flatMap((cell) => [...cell.matchAll(CODE)].map(([, code = '']) => code))
}

function startsWith(code: string, name: string): boolean {
  return code === name || code.startsWith(`${name} `)
}
