// Goal: one process at a time owns DATA_DIR, whatever is deleted in it, and who is kept out learns
// why. Method: real services and commands, on a folder where no socket can be made: its path is too
// long for one, or something else has the name.

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { lockDataDir } from '../../src/sqlite/data-dir-lock.ts'
import { runCommand, runProcess, serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'

const SOCKET_PATH_BYTES = 108

describe('a DATA_DIR that a service has', () => {
  let folder: string
  let service: RunningService | undefined
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-lock-'))
  })
  afterEach(async () => {
    await service?.stop()
    service = undefined
    await rm(folder, { recursive: true })
  })

  const list = (dataDir: string) => runCommand(dataDir, ['user', 'list'])

  it('is kept from others when the file of the lock is deleted', async () => {
    service = await serve(folder)
    await rm(join(folder, 'lock.db'))
    const second = await runProcess(folder, ['serve'], { PORT: '0' })
    expect(second.stderr).to.match(/is in use by another process, though its lock\.db is missing/)
    expect(second.exitCode).to.equal(1)
    await rm(join(folder, 'thermolog.sock'))
    expect((await list(folder)).exitCode).to.equal(1)
    expect(await service.stop()).to.equal(0)
    // With nobody there it is only a copy that came without one.
    service = await serve(folder)
    expect((await list(folder)).exitCode).to.equal(0)
  })

  // A service that starts has locked its folder before it makes its socket.
  for (const command of [
    ['user', 'list'],
    ['export', '--user', 'a@example.org'],
  ]) {
    it(`is waited for while it starts: thermolog ${command[0]}`, async () => {
      await runCommand(folder, ['user', 'create', '--email', 'a@example.org'])
      const starting = lockDataDir(folder)
      const [done] = await Promise.all([
        runCommand(folder, command),
        setTimeout(2_000).then(() => starting.release()),
      ])
      expect(done.exitCode, done.stderr).to.equal(0)
    })
  }

  it('is not moved', async () => {
    service = await serve(folder)
    const influx = { URL: 'http://127.0.0.1:9', ORG: 'o', BUCKET: 'b', TOKEN: 't' }
    const env = Object.entries(influx).map(([name, value]) => [`INFLUX_${name}`, value])
    const settings = Object.fromEntries(env) as Record<string, string>
    const { exitCode, stderr } = await runCommand(folder, ['move', '--to', 'influx'], settings)
    expect(stderr).to.match(/ is in use by another .*process\nStop the service until the move is/)
    expect(exitCode).to.equal(1)
  })

  it('is waited for by a service while a command has it', async () => {
    await runCommand(folder, ['user', 'create', '--email', 'a@example.org'])
    const command = lockDataDir(folder)
    const [started] = await Promise.all([
      serve(folder),
      setTimeout(2_000).then(() => command.release()),
    ])
    service = started
    const second = await runProcess(folder, ['serve'], { PORT: '0' })
    expect(second.stderr).to.match(/^[^\n]* is in use by another Thermolog process\n$/m)
    expect(second.stderr).not.to.include('It has not answered')
    expect(second.exitCode).to.equal(1)
  })

  it('is not waited for without end', async () => {
    await runCommand(folder, ['user', 'create', '--email', 'a@example.org'])
    const starting = lockDataDir(folder)
    const { exitCode, stderr } = await list(folder)
    starting.release()
    expect(stderr).to.match(/ is in use by another Thermolog process\nIt has not answered within /)
    expect(exitCode).to.equal(1)
  })

  /** Folders where the socket cannot be, and why. */
  const without: Readonly<Record<string, readonly [() => Promise<string>, RegExp]>> = {
    'its path is too long': [
      async () => join(folder, 'x'.repeat(SOCKET_PATH_BYTES)),
      /could make no socket there: the path of DATA_DIR is too long for a socket/,
    ],
    'the name is taken': [
      async () => {
        await mkdir(join(folder, 'thermolog.sock'))
        return folder
      },
      /could make no socket there: .*thermolog\.sock/,
    ],
  }
  for (const [why, [make, says]] of Object.entries(without)) {
    it(`is served without a socket, and commands say why: ${why}`, async () => {
      const dataDir = await make()
      service = await serve(dataDir)
      const warnings = service.logged.filter((line) => line.includes('"level":"warn"'))
      expect(warnings.join()).to.match(/commands cannot reach the service/)
      for (const command of [
        ['user', 'list'],
        ['export', '--user', 'a@example.org'],
      ]) {
        const { exitCode, stderr } = await runCommand(dataDir, command)
        expect(stderr).to.match(says)
        expect(exitCode).to.equal(1)
      }
      const backup = await runCommand(dataDir, ['backup', join(folder, 'backup')])
      expect(backup.exitCode, backup.stderr).to.equal(0)
      expect(await service.stop()).to.equal(0)
      expect((await list(dataDir)).exitCode).to.equal(0)
    })
  }
})
