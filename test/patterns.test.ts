// Goal: no text that somebody sends keeps the process busy: a pattern with two ways to divide the
// same characters takes the square of their number, or worse, and nothing else runs meanwhile.
// Method: every regular expression of sources and schemas, on long texts made for it. What RE2 runs
// is not among them: it is a text there, and linear.

import { createContext, Script } from 'node:vm'
import { expect } from 'chai'
import { slowTexts } from './support/slow-texts.ts'
import { patternsOfSchema, patternsOfSource } from './support/source-patterns.ts'
import type { FoundPattern } from './support/source-patterns.ts'
import { readRepository } from './support/source-tree.ts'

/** One that reads each character once needs a few milliseconds, a quadratic one ten seconds. */
const READING_MS_MAX = 500
const context = createContext({ pattern: /x/, texts: [''] })
const read = new Script('for (const text of texts) text.replace(pattern, "")')

function areReadInTime(pattern: RegExp, texts: readonly string[]): boolean {
  Object.assign(context, { pattern, texts })
  try {
    read.runInContext(context, { timeout: READING_MS_MAX })
    return true
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    return false
  }
}

/** @returns a text that it does not read in time */
function slowTextFor(pattern: RegExp): string | undefined {
  const texts = [...slowTexts(pattern)]
  if (areReadInTime(pattern, texts)) return undefined
  return texts.find((text) => !areReadInTime(pattern, [text]))
}

function tellSlow({ place, pattern }: FoundPattern): string[] {
  const text = slowTextFor(pattern)
  if (text === undefined) return []
  const [start, end] = [text.slice(0, 20), text.slice(-5)].map((part) => JSON.stringify(part))
  return [`${place}: ${String(pattern)} is slow on ${text.length} characters ${start}…${end}`]
}

describe('regular expressions', () => {
  const files = readRepository()

  for (const pattern of [/^(?:\d+\.?\d*|\.\d+)$/, /^\s*show\s*;?\s*$/i]) {
    it(`that are slow are known as such: ${String(pattern)}`, () => {
      expect(slowTextFor(pattern)).to.be.a('string')
    })
  }

  it('of the sources are quick on any text', () => {
    const sources = files.filter(({ path }) => /^src\/.*\.(ts|js)$/.test(path))
    const found = sources.flatMap(patternsOfSource)
    expect(found.length).to.be.above(100)
    expect(found.flatMap(tellSlow).join('\n')).to.equal('')
  })

  it('of the schemas are quick on any text', () => {
    const schemas = files.filter(({ path }) => /^schemas\/.*\.json$/.test(path))
    const found = schemas.flatMap(patternsOfSchema)
    expect(found).to.not.have.lengthOf(0)
    expect(found.flatMap(tellSlow).join('\n')).to.equal('')
  })
})
