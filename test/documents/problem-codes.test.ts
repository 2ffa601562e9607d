// Goal: whoever meets a code of a problem finds it in the document, which says the same of it as
// the service. Method: docs/api.md against the lists in the source, and these against the schemas.

import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { FAULTS } from '../../src/http/answers/faults.ts'
import { allProblems } from '../../src/http/answers/problems.ts'
import { SCHEMA_FILES } from '../../src/http/body/schema-files.ts'
import type { JsonObject } from '../../src/http/body/schema-files.ts'

const COMMON = SCHEMA_FILES.get('common.json')?.$defs ?? {}
const API = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')
const [, ofProblems = '', ofFaults = ''] =
  /\n## Errors\n([^]*)\n### Codes inside `errors`\n([^]*?)\n## /.exec(API) ?? []

/** Nothing violates them. */
const NOT_VIOLATED = ['$schema', 'title', 'description', 'examples']

function keywordsOf({ $ref, items, properties, ...rest }: JsonObject): string[] {
  const shared = COMMON[String($ref).replace('../common.json#/$defs/', '')]
  const parts = [shared, items, ...Object.values(properties ?? {})].filter(
    (part) => part !== undefined,
  )
  return [...Object.keys(rest), ...(parts as JsonObject[]).flatMap(keywordsOf)]
}

describe('the codes of problems in docs/api.md', () => {
  it('are all of them', () => {
    const codes = allProblems().map(({ code }) => code)
    expect(codes.filter((code) => !ofProblems.includes(`\`${code}\``))).to.deep.equal([])
  })

  it('are explained inside errors as the service explains them', () => {
    const rows = ofFaults.matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)
    const explained = Object.entries(FAULTS).map(([code, { explanation }]) => [code, explanation])
    expect(Array.from(rows, ([, code, text]) => [code, text])).to.deep.equal(explained)
  })

  it('have every keyword that a request can violate', () => {
    const requests = Array.from(SCHEMA_FILES).filter(([name]) => name.startsWith('request/'))
    const keywords = requests.flatMap(([, schema]) => keywordsOf(schema))
    expect(FAULTS).to.include.all.keys(...keywords.filter((word) => !NOT_VIOLATED.includes(word)))
    expect(keywords).to.include.members(['maximum', 'pattern', 'minItems'])
  })
})
