import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { pointToJavaScript, stripTypes } from '../../packaging/strip-types.ts'
import { readRepository } from '../support/source-tree.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

describe('stripTypes', () => {
  it('leaves JavaScript with every line where it was', () => {
    const source =
      "import { a } from './a.ts'\ninterface B {\n  c: string\n}\nconst d: B = a as B\n"
    const lines = stripTypes(source).split('\n')
    expect(lines[0]).to.equal("import { a } from './a.js'")
    expect(lines[4]?.replaceAll(' ', '')).to.equal('constd=a')
    expect(lines).to.have.lengthOf(source.split('\n').length)
  })

  it('leaves no source that refers to a TypeScript file', () => {
    const paths = readRepository().map(({ path }) => path)
    const sources = paths.filter((path) => /^(src|docker)\/.*\.ts$/.test(path))
    expect(sources).to.have.lengthOf.above(200)
    const left = sources.filter((path) => {
      const stripped = stripTypes(readFileSync(join(ROOT, path), 'utf8'))
      return /['"`]\.[^'"`\n]*\.ts['"`]/.test(stripped)
    })
    expect(left).to.deep.equal([])
  })
})

describe('pointToJavaScript', () => {
  it('changes relative names of modules and threads, and nothing else', () => {
    const source =
      "import('../a.ts'); new URL(`./${name}-thread.ts`, x); 'b.ts'; './c.tsv'; // d.ts"
    const expected = source.replace('a.ts', 'a.js').replace('thread.ts', 'thread.js')
    expect(pointToJavaScript(source)).to.equal(expected)
  })
})
