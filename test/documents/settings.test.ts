// Goal: docs/operations.md has all settings as they are. Method: its table is held against what
// would be written, and its section on secrets against the names.

import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { withSettings } from '../../packaging/settings-table.ts'
import { allSettings } from '../../src/config-table.ts'

const DOCUMENT = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')

describe('the settings in docs/operations.md', () => {
  it('are those of the table as it is now', async () => {
    expect(DOCUMENT).to.match(/^\| `PORT` +\| `8080` +\| a whole number from 0 to 65535 +\|/m)
    expect(DOCUMENT === (await withSettings(DOCUMENT)), 'run: npm run generate').to.equal(true)
  })

  it('are named as secrets where they are', () => {
    const [, section = ''] = /\n### Secrets\n([^]*?)\n## /.exec(DOCUMENT) ?? []
    const named = new Set(section.match(/(?<=`)[A-Z]\w*(?:<NAME>\w+)?(?=`)/g))
    const secrets = allSettings().flatMap(([name, { isSecret }]) => (isSecret ? [name] : []))
    expect(secrets).to.have.lengthOf.above(0)
    for (const name of secrets) expect(named).to.include.members([name, `${name}_FILE`])
  })
})
