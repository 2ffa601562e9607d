// Goal: an operator gets the same from every command, whether a service runs or not. Method: the
// real command as a process, on a temporary data directory, once beside a running service and once
// alone.

import { expect } from 'chai'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTagged } from '../../src/sqlite/database.ts'
import { runCommand, runProcess, serve, serveHere } from '../support/command.ts'
import type { Environment, RunningService, ServiceHere } from '../support/command.ts'

const ANA = 'ana@example.org'
const NOWHERE = { DATA_DIR: '/nowhere' }

describe('thermolog', () => {
  let dataDir = ''
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
  })
  after(() => rm(dataDir, { recursive: true }))

  function run(...args: string[]) {
    return runCommand(dataDir, args)
  }

  it('says in a line that its output does not fit on the disk', () => {
    const { status, stderr } = spawnSync('sh', ['-c', 'bin/thermolog --help >/dev/full'])
    expect(String(stderr)).to.match(/^thermolog: cannot write to standard output: .+\n$/)
    expect(status).to.equal(1)
  })

  it('says so at once, though the service goes on', async () => {
    const serving = spawn('sh', ['-c', 'exec bin/thermolog serve >/dev/full'], {
      env: { PATH: process.env['PATH'], DATA_DIR: join(dataDir, 'full'), PORT: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const [said] = (await once(serving.stderr, 'data')) as [Buffer]
    expect(String(said)).to.match(/^thermolog: cannot write to standard output: .+\n$/)
    serving.kill()
    expect(await once(serving, 'exit')).to.deep.equal([1, null])
  })

  it('does not wait for a service that is stopped and will not answer', async () => {
    const service = await serve(dataDir)
    service.child.kill('SIGSTOP')
    const { exitCode, stderr } = await run('user', 'list')
    service.child.kill('SIGCONT')
    expect(stderr).to.match(/^thermolog: the service does not answer: nothing .* 10 seconds\nIt is/)
    expect(exitCode).to.equal(1)
    expect((await run('user', 'list')).exitCode).to.equal(0)
    expect(await service.stop()).to.equal(0)
  })

  describe('wrong usage', () => {
    const wrong: readonly { args: string[]; environment?: Environment; says: RegExp }[] = [
      { args: [], says: /Usage: bin\/thermolog/ },
      {
        args: ['frobnicate'],
        says: /^thermolog: unknown command 'frobnicate'\nSee bin\/thermolog --help.\n$/,
      },
      {
        args: ['users', 'list'],
        says: /^.*: unknown command 'users'\nDid you mean user\? See bin\/thermolog --help.\n$/,
      },
      {
        args: ['users', '--help'],
        says: /^thermolog: unknown command 'users'\nDid you mean user\?/,
      },
      { args: ['nurse', '--help'], says: /^thermolog: unknown command 'nurse'\nSee bin\/therm/ },
      {
        args: ['user', 'add', '--help'],
        says: /^thermolog: unknown command 'add'\nSee .* user --h/,
      },
      {
        args: ['user', 'list', '--all'],
        says: /^thermolog: .*'--all'\nSee bin\/thermolog user list --help/,
      },
      {
        args: ['user', 'create'],
        says: /^.*: required option '--email <address>' .*\nSee bin\/thermolog user create --/,
      },
      { args: ['user', 'create', '--email', 'nobody'], says: /"nobody" is not a valid e-mail/ },
      { args: ['token', 'revoke', '-1'], says: /"-1" is not a valid id/ },
      {
        args: ['token', 'create', '--user', ANA, '--name', 'n', '--expires', '3'],
        says: /^thermolog: --expires must be a duration like 30s, 15m, 12h or 90d, not "3"\n$/,
      },
      {
        args: ['token', 'revoke', 'abc'],
        says: /^thermolog: "abc" is not a valid id\nIds .*`bin\/thermolog token list --user …`/,
      },
      {
        args: ['journal', 'retry'],
        says: /^thermolog: no id is named\nName ids .*: bin\/thermolog journal retry --all\n$/,
      },
      { args: ['journal', 'drop'], says: /or use: bin\/thermolog journal drop --all\n$/ },
      // Before anything is opened.
      { args: ['refused', 'drop'], environment: NOWHERE, says: /no id is named/ },
      { args: ['user', 'rename', ANA], environment: NOWHERE, says: /nothing to change/ },
      { args: ['sensor', 'set', '1'], environment: NOWHERE, says: /nothing to change/ },
      {
        args: ['refused', 'list', '--oldest', '--skipped'],
        environment: NOWHERE,
        says: /cannot be used with/,
      },
      { args: ['journal', 'drop', '5', '--all'], says: /--all and ids exclude each other/ },
      { args: ['user', 'list'], environment: { PORT: 'x' }, says: /PORT must be/ },
      { args: ['serve'], environment: { MAX_FUTURE: 'soon' }, says: /MAX_FUTURE must be/ },
    ]
    for (const { args, environment, says } of wrong) {
      it(`ends with 2: thermolog ${args.join(' ')}`, async () => {
        const { exitCode, stdout, stderr } = await runCommand(dataDir, args, environment)
        expect(stderr).to.match(says)
        expect(stdout).to.equal('')
        expect(exitCode).to.equal(2)
      })
    }

    it('marks what is required, and names the scopes', async () => {
      const { stdout } = await run('token', 'create', '--help')
      const help = stdout.replace(/\s+/g, ' ')
      expect(help).to.match(/--user <address> [^(]*\(required\) --name <name> [^(]*\(required\)/)
      expect(help).to.include('measurements:write, sensors:read, sensors:write')
    })

    for (const group of ['user', 'token', 'sensor', 'journal', 'refused', 'database']) {
      it(`shows an example of ${group}`, async () => {
        const { stdout } = await run(group, '--help')
        expect(stdout).to.match(new RegExp(`\nExample:\n.*bin/thermolog ${group} [a-z]`))
      })
    }

    it('tells its version', async () => {
      const { exitCode, stdout } = await run('--version')
      expect(stdout).to.match(/^\d+\.\d+\.\d+( \([\w-]+\))?\n$/)
      expect(exitCode).to.equal(0)
    })
  })

  for (const isServing of [false, true]) {
    describe(isServing ? 'beside a running service' : 'alone', () => {
      let service: ServiceHere | undefined
      before(async () => {
        if (isServing) service = await serveHere(dataDir)
      })
      after(async () => {
        await service?.stop()
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

      it('renames a user, whose name follows an address that it was', async () => {
        const old = `old-${email}`
        const renamed = `new-${email}`
        await run('user', 'create', '--email', old)
        const rename = (...change: string[]) => run('user', 'rename', ...change, '--json')
        const moved = await rename(old, '--email', renamed)
        expect(JSON.parse(moved.stdout)).to.include({ email: renamed, name: renamed })
        const named = await rename(renamed, '--name', 'New')
        expect(JSON.parse(named.stdout)).to.include({ email: renamed, name: 'New' })
        expect((await rename(old, '--name', 'X')).stderr).to.match(/no user has the address/)
        expect((await rename(renamed, '--email', email)).stderr).to.match(/already exists/)
        expect((await rename(renamed, '--email', 'x')).exitCode).to.equal(2)
        const nothing = await rename(renamed)
        expect([nothing.exitCode, nothing.stderr]).to.deep.equal([
          2,
          'thermolog: nothing to change\nAdd --email, --name or both.\n',
        ])
        const { stdout } = await run('user', 'list', '--json')
        expect(stdout).to.contain('"New"').and.not.contain(old)
      })

      it('deletes a user, and knows identities to unlink', async () => {
        const gone = `gone-${email}`
        await run('user', 'create', '--email', gone)
        await run('sensor', 'create', '--user', gone, '--sn', 'A1')
        const unlinked = await run('user', 'unlink', gone, '--issuer', 'https://id.example.org')
        expect(unlinked.stderr).to.match(/has no identity at "https:\/\/id.example.org"\n/)
        expect(unlinked.exitCode).to.equal(1)
        const deleted = await run('user', 'delete', gone, '--yes')
        expect(deleted.stderr).to.match(
          /^deleted user \d+ \(.*\) with 1 sensor and 0 measurements\n/,
        )
        expect(deleted.exitCode).to.equal(0)
        expect((await run('user', 'delete', gone, '--yes')).stderr).to.match(
          /no user has the address/,
        )
      })

      it('refuses a user twice, whatever the case', async () => {
        const upper = email.toUpperCase()
        const { exitCode, stderr } = await run('user', 'create', '--email', upper)
        expect(stderr).to.equal(`thermolog: a user with the address ${upper} already exists\n`)
        expect(exitCode).to.equal(1)
      })

      it('says that it does not know a user, and what to do', async () => {
        const { exitCode, stderr } = await run('sensor', 'list', '--user', 'no@example.org')
        expect(stderr).to.match(
          /no user has the address no@example.org\nSee `bin\/thermolog user list`/,
        )
        expect(exitCode).to.equal(1)
      })

      it('says how to create a user who is to own something', async () => {
        const order = ['--user', 'no@example.org', '--sn', 'A1']
        const { exitCode, stderr } = await run('sensor', 'create', ...order)
        expect(stderr).to.match(/user first: bin\/thermolog user create --email no@example.org\n$/)
        expect(exitCode).to.equal(1)
      })

      it('names measurements that are not set aside', async () => {
        for (const verb of ['retry', 'drop']) {
          const { exitCode, stderr } = await run('journal', verb, '5', '7')
          expect(stderr).to.match(
            /^thermolog: no set-aside measurement has the id 5, 7\nSee `bin\/thermolog/,
          )
          expect(exitCode).to.equal(1)
        }
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

      it('prints a token in place of another one, which works on', async () => {
        const order = ['--user', email, '--name', 'gateway-3', '--json']
        const { id } = JSON.parse((await run('token', 'create', ...order)).stdout) as { id: number }
        const rotated = await run('token', 'rotate', String(id))
        expect(rotated.stdout).to.match(/^thd_live_[\w-]{43}\n$/)
        expect(rotated.stderr).to.match(new RegExp(`^token ${id} works until \\d{4}-.*Z\n$`))
        const again = await run('token', 'rotate', String(id), '--overlap', '30s', '--json')
        const { token, old_expires_at: end } = JSON.parse(again.stdout) as Record<string, string>
        expect(token).to.match(/^thd_live_/)
        expect(Date.parse(end ?? '')).to.be.lessThan(
          Date.parse(/until (.*)/.exec(rotated.stderr)?.[1] ?? ''),
        )
        const wrong = await run('token', 'rotate', String(id), '--overlap', '0d')
        expect(wrong.stderr).to.match(/--overlap must be a duration like 30s/)
        expect(wrong.exitCode).to.equal(2)
      })

      it('says of a mobile token that it has run out for want of use', async () => {
        const order = ['--user', email, '--name', 'phone', '--json']
        const { id } = JSON.parse((await run('token', 'create', ...order)).stdout) as { id: number }
        const db = openTagged(join(dataDir, 'control.db'))
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
        expect(stderr).to.match(/"all" is not a scope\nScopes: measurements:write/)
        expect(exitCode).to.equal(2)
      })

      it('creates and lists sensors', async () => {
        const order = ['--user', email, '--sn', '28-FF-64-1E', '--alias', 'Cellar', '--json']
        const { stdout } = await run('sensor', 'create', ...order)
        const sensor = JSON.parse(stdout) as Record<string, unknown>
        expect(sensor).to.include({ sn: '28-FF-64-1E', alias: 'Cellar', compensation: 0 })
        const again = await run('sensor', 'create', '--user', email, '--sn', '28ff641e')
        expect(again.stderr).to.match(/already has a sensor 28ff641e/)
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
      const { exitCode, stderr } = await runProcess(dataDir, ['serve'], { PORT: '0' })
      expect(stderr).to.match(/in use by another Thermolog process/)
      expect(exitCode).to.equal(1)
    })

    it('ends when its port is taken, and names the setting', async () => {
      const other = join(dataDir, 'other')
      const port = new URL(service?.url ?? '').port
      const { exitCode, stderr } = await runProcess(other, ['serve'], { PORT: port })
      expect(stderr).to.match(
        new RegExp(`^thermolog: PORT ${port} of 127.0.0.1 is already in use\nSet PORT to a free`),
      )
      expect(exitCode).to.equal(1)
    })

    // A label of 64 letters is no name: no server is asked, which could take long to answer. The
    // second is kept for documents: no machine has it.
    for (const [host, problem] of [
      [`${'x'.repeat(64)}.invalid`, 'a known host name'],
      ['192.0.2.1', 'an address of this machine'],
    ] as const) {
      it(`ends when it cannot be reached at ${host}, and names the setting`, async () => {
        const settings = { PORT: '0', HOST: host }
        const { exitCode, stderr } = await runProcess(join(dataDir, 'other'), ['serve'], settings)
        expect(stderr).to.match(/^thermolog: HOST .*\nSet HOST to 127\.0\.0\.1 for .*\n$/)
        expect(stderr).to.include(`HOST ${host} is not ${problem}`)
        expect(exitCode).to.equal(1)
      })
    }

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
