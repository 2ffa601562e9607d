// Goal: settings that are not read are named, and only those that cannot be meant for this process
// are passed over. Method: the real command with misspelt names, and in a folder whose `.env` it
// may not read.

import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { leaveOut } from '../support/left-out.ts'

const COMMAND = fileURLToPath(new URL('../../src/thermolog.js', import.meta.url))
const NOBODY = 65_534

describe('settings', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-settings-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const create = ['user', 'create', '--email', 'a@example.org']

  it('that look like ours are warned of, and the command is carried out', async () => {
    const { exitCode, stderr } = await runCommand(join(folder, 'data'), create, {
      RATE_LIMIT_REQUEST: '5',
    })
    expect(stderr).to.equal(
      'thermolog: warning: RATE_LIMIT_REQUEST is not a setting and is ignored: ' +
        'did you mean RATE_LIMIT_REQUESTS?\n',
    )
    expect(exitCode).to.equal(0)
  })

  it('of an identity provider that are misspelt are refused', async () => {
    const { exitCode, stderr } = await runCommand(join(folder, 'data'), create, {
      IDP_HOME_ISUER: 'https://id.example.org',
    })
    expect(stderr).to.match(/IDP_HOME_ISUER is not a setting: did you mean IDP_HOME_ISSUER\?\n$/)
    expect(exitCode).to.equal(2)
  })

  it('of InfluxDB are refused beside a database, whatever is to be done there', async () => {
    const settings = { DATABASE_URL: 'postgresql://127.0.0.1:1/x', INFLUX_TOKEN: 'very-secret' }
    const commands = ['serve', 'verify', 'database restored', 'move --to influx']
    for (const command of commands) {
      const words = command.split(' ')
      const { exitCode, stderr } = await runCommand(join(folder, 'data'), words, settings)
      expect(stderr, command).to.match(
        /INFLUX_TOKEN beside DATABASE_URL: measurements are stored in PostgreSQL; InfluxDB can /,
      )
      expect(stderr).not.to.contain('very-secret')
      expect(exitCode, command).to.equal(2)
    }
  })

  it('that are wrong are errors for journald, line by line', () => {
    const program = 'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$0" "$@"'
    const { stderr } = spawnSync('/bin/sh', ['-c', program, process.execPath, COMMAND, 'serve'], {
      env: { PATH: process.env['PATH'], PORT: 'x', LOG_LEVEL: 'y' },
      encoding: 'utf8',
    })
    expect(stderr.split('\n').map((line) => line.slice(0, 9))).to.deep.equal([
      '<3>thermo',
      '<3>  PORT',
      '<3>  LOG_',
      '',
    ])
  })

  describe('in a .env that may not be read', () => {
    function runAsNobody() {
      return spawnSync(process.execPath, [COMMAND, 'user', 'list'], {
        uid: NOBODY,
        gid: NOBODY,
        cwd: folder,
        env: { PATH: process.env['PATH'], DATA_DIR: join(folder, 'never-made') },
        encoding: 'utf8',
      })
    }

    beforeEach(async function () {
      const isRoot = process.getuid?.() === 0
      const user = { uid: NOBODY, gid: NOBODY }
      const mayRun =
        isRoot && spawnSync(process.execPath, [COMMAND, '--version'], user).status === 0
      if (!mayRun) leaveOut(this, 'a user who is nobody')
      await writeFile(join(folder, '.env'), 'PORT=wrong\n', { mode: 0o600 })
    })

    const readable = 0o755
    const closed = 0o700
    for (const [what, mode] of Object.entries({ 'the file': readable, 'the folder': closed })) {
      it(`are passed over when ${what} belongs to someone else`, async () => {
        await chmod(folder, mode)
        expect(runAsNobody().stderr).to.match(/never-made/)
      })
    }

    it('are missed when the file belongs to whoever runs the command', async () => {
      await chmod(folder, readable)
      await chown(join(folder, '.env'), NOBODY, NOBODY)
      await chmod(join(folder, '.env'), 0)
      const { status, stderr } = runAsNobody()
      expect(stderr).to.match(/\.env cannot be read \(EACCES\): make it readable or move it\n$/)
      expect(status).to.equal(2)
    })
  })
})
