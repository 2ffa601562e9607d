import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { usePostgres } from '../support/postgres.ts'
import { serviceSuite } from './suites/service.ts'

describe('two services on one database', () => serviceSuite(usePostgres))

describe('DATABASE_URL', () => {
  it('is checked before anything is opened', async () => {
    const environment = { DATABASE_URL: 'postgresql://u:secret@127.0.0.1:1/none' }
    const served = await runCommand('nowhere', ['serve'], environment)
    expect(served.exitCode).to.equal(2)
    expect(served.stderr).to.contain('DATABASE_URL').and.not.to.contain('secret')
    const wrong = await runCommand('nowhere', ['serve'], { DATABASE_URL: 'mysql://u:secret@x/y' })
    expect(wrong.stderr).to.contain('must be like postgresql:').and.not.to.contain('secret')
  })
})
