// Goal: modules do the same joined as they do apart. Method: write some, join them, run both; and
// some in forms that cannot be joined by text.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { joinModules } from '../../../src/http/pages/joined-modules.ts'

const MODULES = {
  'page.js': `// Imports what it needs.
import { Counter, add as addOne } from './counter.js'
import { name } from './name.js'

export const seen = [addOne(), name()]

export async function later() {
  const { LATER } = await import('./later.js')
  return [...LATER, addOne(), new Counter().name]
}
`,
  'counter.js': `import {
  name,
} from './name.js'

let count = 0
export function add() {
  return (count += 1)
}
export class Counter {
  name = name()
}
`,
  'name.js': `const count = 'same name'

/**
 * Of a module. * / is not its end.
 */
export function name() {
  // That of this module: not "the same".
  return count
}
export async function* each() {}
`,
  'later.js': `import { add } from './counter.js'
import { OTHER } from './other.js'

export const LATER = [add(), OTHER]
`,
  'other.js': `export const OTHER = 'of another module'
`,
}

interface Page {
  readonly seen: unknown
  readonly later: () => Promise<unknown>
}

describe('joined modules', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-modules-'))
    await write(folder, new Map(Object.entries(MODULES)))
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function write(target: string, modules: ReadonlyMap<string, string>): Promise<void> {
    await mkdir(target, { recursive: true })
    await writeFile(join(target, 'package.json'), '{ "type": "module" }')
    for (const [name, text] of modules) await writeFile(join(target, name), text)
  }

  const entryOf = (target: string) => pathToFileURL(join(target, 'page.js'))

  it('do what they do apart, each once, also with those that come later', async () => {
    const joined = await joinModules(entryOf(folder))
    expect([...joined.keys()]).to.deep.equal(['page.js', 'other.js', 'later.js'])
    // Comments are not loaded.
    expect([...joined.values()].join('')).not.to.match(/Imports what|Of a module|That of this/)
    await write(join(folder, 'joined'), joined)
    const apart = (await import(entryOf(folder).href)) as Page
    const { page_js: together } = (await import(entryOf(join(folder, 'joined')).href)) as {
      readonly page_js: Page
    }
    expect(together.seen).to.deep.equal([1, 'same name'])
    expect(together.seen).to.deep.equal(apart.seen)
    const later = await together.later()
    expect(later).to.deep.equal([2, 'of another module', 3, 'same name'])
    expect(later).to.deep.equal(await apart.later())
  })

  for (const statement of [
    `import * as all from './name.js'`,
    `import './name.js'`,
    `import one from './name.js'`,
    `export { name } from './name.js'`,
    `export let variable = 1`,
    `export default 1`,
  ]) {
    it(`refuse ${statement}`, async () => {
      await writeFile(join(folder, 'other.js'), `${statement}\n`)
      await writeFile(join(folder, 'name.js'), `${statement}\n`)
      const failure = await joinModules(entryOf(folder)).then(
        () => '',
        (error: Error) => error.message,
      )
      expect(failure).to.equal(`name.js cannot be joined with others: ${statement}`)
    })
  }
})
