// Goal: whoever runs backups is told when they have ended. Method: the real command in each of its
// forms; what it leaves in DATA_DIR, and what /metrics makes of it.

import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { readLastBackup } from '../../src/system/last-backup.ts'
import { runCommand, startCommand } from '../support/command.ts'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'

const NOTE = 'last-backup.json'
const NOBODY = 65_534

describe('the note of the last backup', () => {
  let folder: string
  let dataDir: string
  const at = (name: string) => join(folder, name)
  const mustRun = async (...args: string[]) => {
    const result = await runCommand(dataDir, args)
    expect(result.exitCode, result.stderr).to.equal(0)
    return result
  }
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-noted-'))
    dataDir = at('data')
    await mustRun('user', 'create', '--email', 'a@example.org')
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('names the file and the time of its manifest, for the owner alone', async () => {
    // The service has a user of its own, and root makes the backup.
    if (process.getuid?.() === 0) await chown(dataDir, NOBODY, NOBODY)
    expect(await readLastBackup(dataDir)).to.equal(undefined)
    const { stdout } = await mustRun('backup', at('backup.tar'), '--json')
    const { taken_at: takenAt } = JSON.parse(stdout) as { taken_at: string }
    const noted = JSON.parse(await readFile(join(dataDir, NOTE), 'utf8')) as unknown
    expect(noted).to.deep.equal({ taken_at: takenAt, file: at('backup.tar') })
    const { mode, uid, gid } = await stat(join(dataDir, NOTE))
    expect(mode & 0o777).to.equal(0o600)
    expect(await stat(dataDir)).to.include({ uid, gid })
    const read = { takenAtMs: Date.parse(takenAt), file: at('backup.tar') }
    expect(await readLastBackup(dataDir)).to.deep.equal(read)
  })

  it('is of the last one, wherever it went', async () => {
    await mkdir(at('kept'))
    const { stdout } = await mustRun('backup', '--keep', '2', at('kept'))
    const kept = await readLastBackup(dataDir)
    expect(stdout).to.include(`${kept?.file} is written`)
    const child = startCommand(dataDir, ['backup', '-'], {})
    const ended = once(child, 'exit')
    await buffer(child.stdout)
    expect((await ended)[0]).to.equal(0)
    const streamed = await readLastBackup(dataDir)
    expect(streamed?.file).to.equal(null)
    expect(streamed?.takenAtMs).to.be.greaterThan(kept?.takenAtMs ?? Infinity)
  })

  it('is of no backup that failed', async () => {
    await writeFile(at('taken'), '')
    expect((await runCommand(dataDir, ['backup', at('taken')])).exitCode).to.equal(1)
    const child = startCommand(dataDir, ['backup', '-'], {})
    child.stdout.destroy()
    expect((await once(child, 'exit'))[0]).to.equal(1)
    expect(existsSync(join(dataDir, NOTE))).to.equal(false)
  })

  it('is in no backup', async () => {
    await mustRun('backup', at('first.tar'))
    await mustRun('backup', at('second.tar'))
    const { exitCode } = await runCommand(at('restored'), ['restore', at('second.tar')])
    expect(exitCode).to.equal(0)
    expect(existsSync(join(at('restored'), NOTE))).to.equal(false)
  })

  it('fails no backup when it cannot be written', async () => {
    await mkdir(join(dataDir, `${NOTE}.unfinished`))
    const { stdout, stderr } = await mustRun('backup', at('backup.tar'))
    expect(stdout).to.include('written and verified')
    expect(stderr).to.match(/nothing in DATA_DIR says that this backup was made: EISDIR/)
  })

  it('counts as none when it is damaged', async () => {
    for (const text of ['', '{"taken_at":"2026-', 'null', '{}', '{"taken_at":"soon"}']) {
      await writeFile(join(dataDir, NOTE), text)
      expect(await readLastBackup(dataDir), text).to.equal(undefined)
    }
  })

  it('is a time on /metrics', async () => {
    const service = await startService()
    const lastBackupSeconds = async () => {
      const { text } = await send(service.url, { path: '/metrics' })
      return Number(/^thermolog_last_backup_timestamp_seconds (.+)$/m.exec(text)?.[1])
    }
    expect(await lastBackupSeconds()).to.equal(0)
    const { exitCode } = await runCommand(service.dataDir, ['backup', at('backup.tar')])
    expect(exitCode).to.equal(0)
    const { takenAtMs = NaN } = (await readLastBackup(service.dataDir)) ?? {}
    expect(await lastBackupSeconds()).to.equal(takenAtMs / 1000)
    await service.stop()
  })
})
