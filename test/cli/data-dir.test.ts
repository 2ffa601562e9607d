// Goal: whatever is wrong with DATA_DIR is said by its name, and nobody but the owner can read what
// is in it. Method: every command on folders that cannot be used; the modes of all files after the
// service and the commands made them without a umask, in a folder that is open to all.

import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { runCommand, serve } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { sendReadings } from '../support/exported.ts'
import { leaveOut } from '../support/left-out.ts'

const COMMAND = fileURLToPath(new URL('../../src/thermolog.js', import.meta.url))
const NOBODY = 65_534

const COMMANDS: readonly (readonly string[])[] = [
  ['serve'],
  ['user', 'list'],
  ['user', 'create', '--email', 'a@example.org'],
  ['journal', 'list'],
  ['export', '--user', 'a@example.org'],
  ['backup', 'never-written'],
  ['restore', 'never-read'],
  ['verify'],
  ['move', '--to', 'influx'],
]

describe('a DATA_DIR', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-data-dir-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const at = (name: string) => join(folder, name)

  for (const command of COMMANDS) {
    it(`that is a file, or below one, is named by \`${command.join(' ')}\``, async () => {
      await writeFile(at('file'), '')
      for (const dataDir of [at('file'), at('file/data')]) {
        const { exitCode, stdout, stderr } = await runCommand(dataDir, command, { PORT: '0' })
        expect(stderr).to.equal(
          `thermolog: DATA_DIR ${dataDir} cannot be used: ${at('file')} is not a folder\n`,
        )
        expect(stdout).to.equal('')
        expect(exitCode).to.equal(2)
      }
    })
  }

  it('that is new is named to the person who starts it', function () {
    const typed = (address: string) => {
      const command = `'${process.execPath}' '${COMMAND}' user create --email ${address}`
      const env = { PATH: process.env['PATH'] }
      const options = { env, cwd: folder, encoding: 'utf8' } as const
      return spawnSync('script', ['-qec', command, '/dev/null'], options)
    }
    const first = typed('a@example.org')
    if (first.error !== undefined) leaveOut(this, 'script')
    expect(first.stdout).to.include(`Data are kept in ${at('data')}`)
    const { stdout } = typed('b@example.org')
    expect(stdout).to.include('b@example.org').and.not.include('Data are')
  })

  const users = ['--user', 'a@example.org']
  for (const command of [
    ['user', 'list'],
    ['user', 'delete', 'a@example.org'],
    ['token', 'list', ...users],
    ['token', 'create', ...users, '--name', 'x'],
    ['sensor', 'list', ...users],
    ['journal', 'list'],
    ['export', ...users],
    ['backup', 'never-written'],
    ['verify'],
    ['move', '--to', 'influx'],
  ]) {
    it(`without data is named by \`${command.join(' ')}\`, which makes nothing`, async () => {
      await mkdir(at('empty'))
      for (const dataDir of [at('missing'), at('empty')]) {
        const { exitCode, stdout, stderr } = await runCommand(dataDir, command)
        expect(stderr).to.match(
          new RegExp(`^thermolog: DATA_DIR ${dataDir} has no data\nSet DATA_`),
        )
        expect(stdout).to.equal('')
        expect(exitCode).to.equal(2)
      }
      expect(await readdir(folder)).to.deep.equal(['empty'])
      expect(await readdir(at('empty'))).to.deep.equal([])
    })
  }

  for (const command of [['serve'], ['user', 'create', '--email', 'a@example.org']]) {
    it(`that cannot be made is named by \`${command.join(' ')}\``, async function () {
      if (process.platform !== 'linux') leaveOut(this, '/proc')
      const { exitCode, stderr } = await runCommand('/proc/x', command, { PORT: '0' })
      expect(stderr).to.match(/^thermolog: DATA_DIR \/proc\/x cannot be used: .*\/proc.*\n$/)
      expect(exitCode).to.equal(2)
    })

    it(`of someone else is named by \`${command.join(' ')}\`, with both owners`, async function () {
      const data = at('data')
      await mkdir(data)
      await chmod(folder, 0o755)
      await chmod(data, 0o555)
      const isRoot = process.getuid?.() === 0
      const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
      // The checkout itself may be nobody else's business.
      const mayRead = spawnSync('test', ['-r', COMMAND], user).status === 0
      const mayRun = spawnSync(process.execPath, ['--version'], user).status === 0
      if (!mayRead || !mayRun) leaveOut(this, 'a user who is nobody')
      const env = { PATH: process.env['PATH'], DATA_DIR: data, PORT: '0' }
      const { status, stderr } = spawnSync(process.execPath, [COMMAND, ...command], {
        ...user,
        cwd: folder,
        env,
        encoding: 'utf8',
      })
      const uid = isRoot ? NOBODY : process.getuid?.()
      const owner = isRoot ? 0 : process.getuid?.()
      expect(stderr).to.equal(
        `thermolog: DATA_DIR ${data} cannot be used: uid ${uid} may not write to ${data} ` +
          `(EACCES), which belongs to uid ${owner} (mode 555)\n`,
      )
      expect(status).to.equal(2)
    })
  }

  describe('is its owner’s alone', () => {
    let umask: number
    beforeEach(() => {
      umask = process.umask(0)
    })
    afterEach(() => {
      process.umask(umask)
    })

    async function expectPrivate(dataDir: string, names: RegExp): Promise<void> {
      const found = await readdir(dataDir)
      expect(found.filter((name) => names.test(name))).not.to.deep.equal([])
      for (const name of found) {
        const { mode } = await stat(join(dataDir, name))
        expect((mode & 0o077).toString(8), name).to.equal('0')
      }
    }

    it('whatever the umask and its own mode are, and those of the files before', async () => {
      const data = at('data')
      await mkdir(data, { mode: 0o755 })
      const made = await runCommand(data, ['user', 'create', '--email', 'a@example.org'])
      expect(made.exitCode, made.stderr).to.equal(0)
      await expectPrivate(data, /^control\.db$/)
      for (const name of await readdir(data)) await chmod(join(data, name), 0o644)
      const service = await serve(data)
      await expectPrivate(data, /^(control|ledger|measurements)\.db-(wal|shm)$/)
      await service.stop('SIGKILL')
      for (const name of await readdir(data)) await chmod(join(data, name), 0o666)
      const again = await serve(data)
      await expectPrivate(data, /^(control|ledger|measurements)\.db-(wal|shm)$/)
      expect(await again.stop()).to.equal(0)
    })

    it('and so is a backup of it, and what is restored', async () => {
      const token = await createFleetToken(at('data'), 'a@example.org')
      const service = await serve(at('data'))
      await sendReadings(service.url, token)
      for (const [dataDir, command] of [
        ['data', 'backup'],
        ['new', 'restore'],
      ] as const) {
        const { exitCode, stderr } = await runCommand(at(dataDir), [command, at('backup')])
        expect(exitCode, stderr).to.equal(0)
      }
      expect(await service.stop()).to.equal(0)
      expect((await stat(at('backup'))).mode & 0o777).to.equal(0o600)
      await expectPrivate(at('new'), /^control\.db$/)
    })
  })
})
