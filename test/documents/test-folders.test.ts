// Goal: a test is found where test/README.md says that it is. Method: the folders of test/ are held
// against those of src/ and against the table.

import { expect } from 'chai'
import { dirname } from 'node:path'
import { readRepository } from '../support/source-tree.ts'

const REMEDY = 'move it to where its source is in src/, or give its folder a line in test/README.md'

const files = readRepository()
const paths = files.map(({ path }) => path)
const tests = paths.filter((path) => /^test\/.*\.test\.ts$/.test(path))
const folders = new Set(paths.flatMap(foldersAbove))
const guide = files.find(({ path }) => path === 'test/README.md')
/** The first cells of the first table. */
const explained = [...(guide?.text ?? '').matchAll(/^\| `([\w.-]+(?:\.ts|\/))` +\|/gm)].map(
  ([, name = '']) => name,
)

describe('the tests', () => {
  it('are in the folder that has the name of their source, or in one that is explained', () => {
    const lost = tests.filter((path) => !isBesideSource(path) && !isExplained(path))
    expect(lost, REMEDY).to.deep.equal([])
  })

  it('are in every folder that is explained', () => {
    const missing = explained.filter(
      (name) => !paths.includes(`test/${name}`) && !folders.has(`test/${name}`.replace(/\/$/, '')),
    )
    expect(explained).to.have.lengthOf.above(0)
    expect(missing).to.deep.equal([])
  })
})

function isBesideSource(path: string): boolean {
  const source = path.replace(/^test\//, 'src/')
  const folder = dirname(source)
  if (folder === 'src') return paths.includes(source.replace(/\.test\.ts$/, '.ts'))
  return folders.has(folder)
}

function isExplained(path: string): boolean {
  const [, name = '', ...below] = path.split('/')
  return explained.includes(below.length > 0 ? `${name}/` : name)
}

function foldersAbove(path: string): string[] {
  const folder = dirname(path)
  return folder === '.' ? [] : [folder, ...foldersAbove(folder)]
}
