import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand, serve } from '../support/command.ts'
import { ask } from '../support/influxql.ts'

const PROGRAM = fileURLToPath(new URL('../../docker/grafana-token.ts', import.meta.url))

describe('the command that gives Grafana a token', () => {
  let dataDir: string
  let secrets: string

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    secrets = await mkdtemp(join(tmpdir(), 'thermolog-secrets-'))
  })
  after(async () => {
    for (const directory of [dataDir, secrets]) await rm(directory, { recursive: true })
  })

  const run = (...args: string[]) =>
    spawnSync(process.execPath, [PROGRAM, `--directory=${secrets}`, ...args], {
      env: { PATH: process.env['PATH'], DATA_DIR: dataDir },
      encoding: 'utf8',
    })

  it('writes one that reads the sensors of the user, and prints none', async () => {
    const service = await serve(dataDir)
    await runCommand(dataDir, ['user', 'create', '--email', 'a@example.org', '--name', 'A'])
    const nobody = run('b@example.org')
    expect([nobody.status, nobody.stdout]).to.deep.equal([1, ''])
    expect(nobody.stderr).to.contain('b@example.org')
    expect(run().stderr).to.equal('grafana-token: say whose sensors: grafana-token EMAIL\n')
    const { status, stdout } = run('a@example.org')
    expect([status, stdout]).to.deep.equal([
      0,
      'Grafana has a token: `docker compose restart grafana` lets it use this\n',
    ])
    const token = await readFile(join(secrets, 'grafana/thermolog-token'), 'utf8')
    expect((await ask(service.url, token, 'SHOW MEASUREMENTS')).status).to.equal(200)
    await service.stop()
  })
})
