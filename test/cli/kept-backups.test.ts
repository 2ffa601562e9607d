// Goal: a folder of dated backups keeps the newest and loses nothing else, and a backup to standard
// output is one like any other. Method: the real commands on a DATA_DIR with a user in it.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { expect } from 'chai'
import { lockFile } from '../../src/sqlite/data-dir-lock.ts'
import { archiveOf } from '../support/archive-of.ts'
import { runCommand, startCommand } from '../support/command.ts'
import { leaveOut } from '../support/left-out.ts'

const DATED = /^thermolog-\d{8}T\d{6}Z\.tar$/

describe('thermolog backup', () => {
  let folder: string
  let backups: string
  const at = (name: string) => join(folder, name)
  const inBackups = (name: string) => join(backups, name)
  const run = (args: readonly string[], settings = {}) => runCommand(at('data'), args, settings)
  const keep = (count: string) => run(['backup', '--keep', count, backups])
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-kept-'))
    expect((await run(['user', 'create', '--email', 'a@example.org'])).exitCode).to.equal(0)
  })
  beforeEach(async () => {
    backups = await mkdtemp(join(folder, 'backups-'))
  })
  after(() => rm(folder, { recursive: true }))

  /** Files that begin like a backup, as nobody would restore them. */
  async function makeBackups(...names: string[]): Promise<void> {
    const like = archiveOf([{ name: 'control.db', content: 'x' }])
    for (const name of names) await writeFile(inBackups(name), like)
  }

  async function expectRestorable(file: string): Promise<void> {
    const restored = join(await mkdtemp(join(folder, 'restored-')), 'data')
    const { exitCode, stderr } = await runCommand(restored, ['restore', file])
    expect(exitCode, stderr).to.equal(0)
    expect((await runCommand(restored, ['user', 'list'])).stdout).to.include('a@example.org')
  }

  describe('--keep', () => {
    it('keeps the newest backups, and the new one whatever the others are called', async () => {
      const older = ['01', '02', '03'].map((day) => `thermolog-202001${day}T000000Z.tar`)
      await makeBackups(...older, 'thermolog-29990101T000000Z.tar')
      const { exitCode, stdout, stderr } = await keep('3')
      expect(exitCode, stderr).to.equal(0)
      const [made = ''] = /thermolog-\d{8}T\d{6}Z\.tar/.exec(stdout) ?? []
      const left = [older[2], made, 'thermolog-29990101T000000Z.tar']
      expect((await readdir(backups)).toSorted()).to.deep.equal(left)
      expect(stderr).to.include(`${older[1]}, ${older[0]}`)
      await expectRestorable(inBackups(made))
    })

    it('deletes and counts nothing that it has not made', async () => {
      await makeBackups('thermolog-2020-01-01.tar', 'thermolog-20200101T000000Z.tar.gz')
      await writeFile(inBackups('thermolog-20200101T000000Z.tar'), 'a diary')
      await writeFile(inBackups('thermolog-20200104T000000Z.tar'), Buffer.alloc(4096))
      await mkdir(inBackups('thermolog-20200102T000000Z.tar'))
      await symlink(
        inBackups('thermolog-2020-01-01.tar'),
        inBackups('thermolog-20200103T000000Z.tar'),
      )
      const before = await readdir(backups)
      expect((await keep('1')).exitCode).to.equal(0)
      const after = await readdir(backups)
      expect(after).to.include.members(before)
      const made = after.filter((name) => !before.includes(name))
      expect(made).to.have.length(1)
      expect(made[0]).to.match(DATED)
    })

    it('deletes nothing when it fails', async () => {
      await makeBackups('thermolog-20200101T000000Z.tar', 'thermolog-20200102T000000Z.tar')
      await mkdir(inBackups('thermolog.unfinished'))
      const failed = await keep('1')
      expect(failed.stderr).to.match(/thermolog\.unfinished exists, and no backup has made it/)
      expect(failed.exitCode).to.equal(1)
      expect(await readdir(backups)).to.have.length(3)
    })

    it('waits for no other backup, and takes over from one that was killed', async () => {
      const unfinished = inBackups('thermolog.unfinished')
      await mkdir(unfinished)
      await writeFile(join(unfinished, 'measurements.db'), 'half a copy')
      const lock = lockFile(join(unfinished, 'backup-lock.db'), () => new Error('taken'))
      const refused = await keep('1')
      expect(refused.stderr).to.match(/is in use: another backup is being written/)
      expect(refused.exitCode).to.equal(1)
      expect(await readdir(unfinished)).to.include('measurements.db')
      lock.release()
      expect((await keep('1')).exitCode).to.equal(0)
      expect(await readdir(backups)).to.have.length(1)
    })

    it('wants a folder that is there, and a number from 1', async () => {
      const missing = await run(['backup', '--keep', '2', inBackups('missing')])
      expect([missing.exitCode, missing.stderr]).to.deep.equal([
        1,
        `thermolog: no folder ${inBackups('missing')}\n`,
      ])
      for (const count of ['0', '-1', '1.5', 'all']) {
        const { exitCode, stderr } = await keep(count)
        expect([exitCode, stderr]).to.deep.equal([
          2,
          `thermolog: --keep must be a positive integer, not ${JSON.stringify(count)}\n`,
        ])
      }
      expect(await readdir(backups)).to.deep.equal([])
    })
  })

  describe('to standard output', () => {
    const start = (args: readonly string[], settings = {}) =>
      startCommand(at('data'), args, { TMPDIR: backups, ...settings })

    it('writes a backup that restores, and leaves nothing else', async () => {
      const child = start(['backup', '-'])
      const [bytes, said] = await Promise.all([buffer(child.stdout), text(child.stderr)])
      await writeFile(at('streamed'), bytes)
      await expectRestorable(at('streamed'))
      expect(said).to.match(/^the backup is written: 1 user, /)
      expect(await readdir(backups)).to.deep.equal([])
    })

    it('fails when its reader goes', async () => {
      const child = start(['backup', '-'])
      child.stdout.destroy()
      const [said, [exitCode]] = await Promise.all([
        text(child.stderr),
        once(child, 'exit') as Promise<[number | null]>,
      ])
      expect(said).to.match(/the backup is incomplete: standard output: write EPIPE/)
      expect(exitCode).to.equal(1)
      expect(await readdir(backups)).to.deep.equal([])
    })

    it('refuses a terminal, --json and --keep', async function () {
      for (const option of [['--json'], ['--keep', '2']]) {
        expect((await run(['backup', '-', ...option])).exitCode).to.equal(2)
      }
      if (spawnSync('script', ['--version']).error !== undefined) leaveOut(this, 'script')
      const command = `${process.execPath} ${join(import.meta.dirname, '../../src/thermolog.js')}`
      const args = ['--quiet', '--return', '--command', `${command} backup -`, at('typescript')]
      const env = { PATH: process.env['PATH'], DATA_DIR: at('data') }
      const { status, stdout } = spawnSync('script', args, { env, encoding: 'utf8' })
      expect(stdout).to.include('a backup is not for a terminal')
      expect(status).to.equal(2)
      expect(await readFile(at('typescript'), 'utf8')).not.to.include('control.db')
    })
  })
})
