// Goal: an operator gets the same from every command, whether a service runs or not. Method: the
// real command as a process, on a temporary data directory, once beside a running service and once
// alone.

import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { runCommand, serve } from '../support/command.ts'
import type { Environment, RunningService } from '../support/command.ts'

const ANA = 'ana@example.org'

describe('thermolog', () => {
  let dataDir = ''
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
  })
  after(() => rm(dataDir, { recursive: true }))

  function run(...args: string[]) {
    return runCommand(dataDir, args)
  }

  describe('wrong usage', () => {
    const wrong: readonly { args: string[]; environment?: Environment; says: RegExp }[] = [
      { args: [], says: /Usage: thermolog/ },
      { args: ['frobnicate'], says: /unknown command 'frobnicate'/ },
      { args: ['user', 'create'], says: /required option '--email <address>'/ },
      { args: ['user', 'create', '--email', 'nobody'], says: /"nobody" is no e-mail address/ },
      { args: ['token', 'revoke', '-1'], says: /unknown option|positive integer/ },
      {
        args: ['token', 'create', '--user', ANA, '--name', 'n', '--expires', '3'],
        says: /a duration like 30s, 15m, 12h or 90d/,
      },
      { args: ['user', 'list'], environment: { PORT: 'x' }, says: /PORT must be/ },
      { args: ['serve'], environment: { MAX_FUTURE: 'soon' }, says: /MAX_FUTURE must be/ },
      {
        args: ['user', 'list'],
        environment: { DATA_DIR: `/${'x'.repeat(120)}` },
        says: /too long for a socket/,
      },
    ]
    for (const { args, environment, says } of wrong) {
      it(`ends with 2: thermolog ${args.join(' ')}`, async () => {
        const { exitCode, stdout, stderr } = await runCommand(dataDir, args, environment)
        expect(stderr).to.match(says)
        expect(stdout).to.equal('')
        expect(exitCode).to.equal(2)
      })
    }

    it('tells its version', async () => {
      const { exitCode, stdout } = await run('--version')
      expect(stdout).to.match(/^\d+\.\d+\.\d+\n$/)
      expect(exitCode).to.equal(0)
    })
  })

  for (const isServing of [false, true]) {
    describe(isServing ? 'beside a running service' : 'alone', () => {
      let service: RunningService | undefined
      before(async () => {
        if (isServing) service = await serve(dataDir)
      })
      after(async () => {
        expect((await service?.stop()) ?? 0).to.equal(0)
      })
      const email = isServing ? 'ben@example.org' : ANA

      it('creates and lists users', async () => {
        const created = await run('user', 'create', '--email', email, '--name', 'A', '--json')
        expect(created.stderr).to.equal('')
        const user = JSON.parse(created.stdout) as Record<string, unknown>
        expect(user).to.include({ email, name: 'A' })
        const { stdout } = await run('user', 'list', '--json')
        expect(JSON.parse(stdout)).to.deep.include({ ...user, identities: [] })
        const table = await run('user', 'list')
        expect(table.stdout).to.match(
          new RegExp(`^id +email +name +identities\n(.*\n)*\\d+ +${email} +A\n`),
        )
      })

      it('deletes a user, and knows identities to unlink', async () => {
        const gone = `gone-${email}`
        await run('user', 'create', '--email', gone)
        await run('sensor', 'create', '--user', gone, '--sn', 'A1')
        const unlinked = await run('user', 'unlink', gone, '--issuer', 'https://id.example.org')
        expect(unlinked.stderr).to.match(/has no identity at "https:\/\/id.example.org"\n/)
        expect(unlinked.exitCode).to.equal(1)
        const deleted = await run('user', 'delete', gone)
        expect(deleted.stderr).to.match(/^user \d+ is deleted, with 1 sensors/)
        expect(deleted.exitCode).to.equal(0)
        expect((await run('user', 'delete', gone)).stderr).to.match(/no user has the address/)
      })

      it('refuses a user twice, whatever the case', async () => {
        const upper = email.toUpperCase()
        const { exitCode, stderr } = await run('user', 'create', '--email', upper)
        expect(stderr).to.equal(`thermolog: there is a user with the address ${upper} already\n`)
        expect(exitCode).to.equal(1)
      })

      it('says that it does not know a user, and what to do', async () => {
        const { exitCode, stderr } = await run('sensor', 'list', '--user', 'no@example.org')
        expect(stderr).to.match(/no user has the address no@example.org\nCreate one: thermolog/)
        expect(exitCode).to.equal(1)
      })

      it('prints a new token alone, lists it without its text and revokes it', async () => {
        const order = ['--user', email, '--name', 'gateway-1', '--expires', '90d']
        const scope = ['--scope', 'measurements:write', '--scope', 'sensors:read']
        const created = await run('token', 'create', ...order, ...scope)
        expect(created.stdout).to.match(/^thd_live_[\w-]{43}\n$/)
        expect(created.exitCode).to.equal(0)
        const listed = await run('token', 'list', '--user', email, '--json')
        const [token] = JSON.parse(listed.stdout) as { id: number; revoked_at: unknown }[]
        expect(token).to.deep.include({
          name: 'gateway-1',
          kind: 'daemon',
          scopes: ['measurements:write', 'sensors:read'],
          last_used_at: null,
          revoked_at: null,
        })
        expect(listed.stdout).not.to.include(created.stdout.trim())
        const revoked = await run('token', 'revoke', String(token?.id))
        expect(revoked.exitCode).to.equal(0)
        const again = await run('token', 'revoke', String(token?.id))
        expect(again.stderr).to.match(/no live token has the id/)
        expect(again.exitCode).to.equal(1)
        const table = await run('token', 'list', '--user', email)
        expect(table.stdout).to.match(/gateway-1 +revoked/)
      })

      it('says of a mobile token that it has run out for want of use', async () => {
        const order = ['--user', email, '--name', 'phone', '--json']
        const { id } = JSON.parse((await run('token', 'create', ...order)).stdout) as { id: number }
        const db = new Database(join(dataDir, 'control.db'))
        const yesterdayMs = performance.timeOrigin + performance.now() - 86_400_000
        db.prepare(
          `UPDATE access_tokens SET kind = 'mobile', created_at_ms = 0, last_used_at_ms = ?
           WHERE id = ?`,
        ).run(Math.floor(yesterdayMs) - 90 * 86_400_000, id)
        db.close()
        const table = await run('token', 'list', '--user', email)
        expect(table.stdout).to.match(/phone +expired \(idle\) /)
        const { stdout } = await run('token', 'list', '--user', email, '--json')
        const listed = JSON.parse(stdout) as { id: number; state: string }[]
        expect(listed.find((token) => token.id === id)?.state).to.equal('idle')
      })

      it('prints id and token as JSON', async () => {
        const order = ['--user', email, '--name', 'gateway-2', '--json']
        const { stdout } = await run('token', 'create', ...order)
        const created = JSON.parse(stdout) as { id: number; token: string }
        expect(Object.keys(created)).to.deep.equal(['id', 'token'])
        expect(created.token).to.match(/^thd_live_/)
      })

      it('refuses a scope that there is not', async () => {
        const order = ['--user', email, '--name', 'n', '--scope', 'all']
        const { exitCode, stderr } = await run('token', 'create', ...order)
        expect(stderr).to.match(/"all" is no scope\nScopes are measurements:write/)
        expect(exitCode).to.equal(2)
      })

      it('creates and lists sensors', async () => {
        const order = ['--user', email, '--sn', '28-FF-64-1E', '--alias', 'Cellar', '--json']
        const { stdout } = await run('sensor', 'create', ...order)
        const sensor = JSON.parse(stdout) as Record<string, unknown>
        expect(sensor).to.include({ sn: '28-FF-64-1E', alias: 'Cellar', compensation: 0 })
        const again = await run('sensor', 'create', '--user', email, '--sn', '28ff641e')
        expect(again.stderr).to.match(/has a sensor 28ff641e already/)
        expect(again.exitCode).to.equal(1)
        const listed = await run('sensor', 'list', '--user', email, '--json')
        expect(JSON.parse(listed.stdout)).to.deep.equal([sensor])
      })
    })
  }

  describe('and the service that runs', () => {
    let service: RunningService | undefined
    before(async () => {
      service = await serve(dataDir)
      await run('user', 'create', '--email', 'cleo@example.org')
    })
    after(async () => service?.stop())

    it('revokes a token for the requests that come next', async () => {
      const order = ['--user', 'cleo@example.org', '--name', 'x', '--json']
      const created = await run('token', 'create', ...order)
      const { id, token } = JSON.parse(created.stdout) as { id: number; token: string }
      const me = async () => {
        const headers = { authorization: `Bearer ${token}` }
        return (await fetch(`${service?.url}/api/v1/me`, { headers })).status
      }
      expect(await me()).to.equal(200)
      expect((await run('token', 'revoke', String(id))).exitCode).to.equal(0)
      expect(await me()).to.equal(401)
    })

    it('refuses a second service on the same data directory', async () => {
      const { exitCode, stderr } = await runCommand(dataDir, ['serve'], { PORT: '0' })
      expect(stderr).to.match(/in use by another Thermolog process/)
      expect(exitCode).to.equal(1)
    })

    it('ends when its port is taken', async () => {
      const other = join(dataDir, 'other')
      const port = new URL(service?.url ?? '').port
      const { exitCode, stderr } = await runCommand(other, ['serve'], { PORT: port })
      expect(stderr).to.match(/address already in use/)
      expect(exitCode).to.equal(1)
    })

    it('starts and takes commands again after the service was killed', async () => {
      await service?.stop('SIGKILL')
      const alone = await run('user', 'list')
      expect(alone.exitCode).to.equal(0)
      service = await serve(dataDir)
      const beside = await run('user', 'list')
      expect(beside.stdout).to.equal(alone.stdout)
    })
  })
})
