import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { newMigratedDatabase, runOnce, usePostgres } from '../support/postgres.ts'
import { within } from '../support/until.ts'
import { serviceSuite } from './suites/service.ts'

describe('two services on one database', () => serviceSuite(usePostgres))

describe('DATABASE_URL', () => {
  it('is checked before anything is opened', async () => {
    const environment = { DATABASE_URL: 'postgresql://u:secret@127.0.0.1:1/none' }
    const served = await runCommand('nowhere', ['serve'], environment)
    expect(served.exitCode).to.equal(1)
    expect(served.stderr).to.contain('DATABASE_URL').and.not.to.contain('secret')
    const wrong = await runCommand('nowhere', ['serve'], { DATABASE_URL: 'mysql://u:secret@x/y' })
    expect(wrong.stderr).to.contain('must be like postgresql:').and.not.to.contain('secret')
  })
})

describe('a service on PostgreSQL', () => {
  const postgres = usePostgres()

  it('exits 1 where the server is away, and 2 where it has no such database', async () => {
    const { url } = await newMigratedDatabase(postgres())
    const exitCodes = async (databaseUrl: string) => {
      const environment = { DATABASE_URL: databaseUrl, PORT: '0' }
      const commands = [['user', 'list'], ['serve']]
      const runs = await Promise.all(
        commands.map((args) => runCommand('nowhere', args, environment)),
      )
      for (const { stderr } of runs) expect(stderr).to.contain('DATABASE_URL cannot be used')
      return runs.map(({ exitCode }) => exitCode)
    }
    expect(await exitCodes('postgresql://u@127.0.0.1:1/none')).to.deep.equal([1, 1])
    expect(await exitCodes('postgresql:///none?host=/nowhere&user=u')).to.deep.equal([1, 1])
    const missing = new URL(url)
    missing.pathname = '/nowhere'
    expect(await exitCodes(missing.href)).to.deep.equal([2, 2])
  })

  it('ends if the last of what it starts with cannot be read', async () => {
    const { url } = await newMigratedDatabase(postgres())
    await runOnce(url, 'ALTER TABLE data_identity RENAME cursor_secret TO lost')
    const serving = runCommand('nowhere', ['serve'], { DATABASE_URL: url, PORT: '0' })
    const { exitCode, stderr } = await within('it ends', serving)
    expect(exitCode).to.equal(1)
    expect(stderr).to.contain('cursor_secret')
  })
})
