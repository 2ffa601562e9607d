// Goal: every command works as a process of its own, and several in one process do not get in each
// other's way. Method: one story, in which each command is run once as a process; and `main` called
// twice at a time. What each command does otherwise is tested in this process.

import { expect } from 'chai'
import type { Command } from 'commander'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { allCommands } from '../../src/cli/main.ts'
import { runCommand, runProcess } from '../support/command.ts'

const ANA = 'ana@example.org'
const READINGS = 'timestamp,sn,temp\n2026-11-20T10:15:00Z,A1,4.5\n'

/** Each command with what it prints, on standard output or error, and how it ends. */
const STORY: readonly (readonly [command: string, says: RegExp, exitCode?: number])[] = [
  [`user create --email ${ANA}`, /^id +email +name\n1 +ana@example\.org/],
  ['user list', /1 +ana@example\.org/],
  [`user rename ${ANA} --name Ana`, /1 +ana@example\.org +Ana/],
  [`user link ${ANA}`, /^http:\/\/127\.0\.0\.1:0\/#\/link\/\S+\nIt works once/],
  [`user unlink ${ANA} --issuer https://x`, /has no identity at "https:\/\/x"/, 1],
  [`token create --user ${ANA} --name gateway`, /^thd_live_\S+\n$/],
  [`token list --user ${ANA}`, /gateway +live/],
  ['token rotate 1', /^thd_live_\S+\ntoken 1 works until/],
  ['token revoke 2', /^revoked token 2\n$/],
  [`sensor create --user ${ANA} --sn A1`, /1 +A1 +A1 +0/],
  ['sensor set 1 --alias Cellar', /1 +A1 +Cellar/],
  [`sensor list --user ${ANA}`, /1 +A1 +Cellar +– +never/],
  [`import FOLDER/readings.csv --user ${ANA}`, /^1 line read: 1 created, 0 duplicates/],
  [`export --user ${ANA}`, /^timestamp,sn,temp\r\n2026-11-20T10:15:00\.000Z,A1,4\.5\r\n/],
  ['refused list', /^no refused lines or elements\n$/],
  ['refused retry --all', /^stored 0 refused items\n$/],
  ['refused drop --all', /^deleted 0 refused items\n$/],
  ['journal list', /^nothing is set aside\n$/],
  ['journal retry --all', /^0 measurements queued/],
  ['journal drop --all', /^deleted 0 set-aside measurements\n$/],
  ['clock accept', /^the clock is accepted/],
  ['verify', /^checked 1 measurement of 1 sensor and 1 event id\nnothing is wrong/],
  ['backup FOLDER/backup.tar', /backup\.tar is written and verified: 1 user, 1 sensor, 1 meas/],
  ['restore FOLDER/backup.tar', /^thermolog: \S+data .*\n/, 1],
  ['doctor', /^Thermolog \d.*\n\n(.*\n)*ok +data_dir/],
  ['database check', /^thermolog: DATABASE_URL is missing/, 2],
  ['database migrate', /^the files in DATA_DIR are up to date\n$/],
  ['database restored', /^the data have a new id/],
  ['move --to influx', /INFLUX_URL/, 2],
  ['sensor delete 1 --yes', /^deleted sensor 1 /],
  [`user delete ${ANA} --yes`, /^deleted user 1 /],
  ['serve', /^thermolog: HOST 192\.0\.2\.1 is not an address of this machine/m, 1],
]

describe('as a process', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-'))
    await writeFile(join(folder, 'readings.csv'), READINGS)
  })
  after(() => rm(folder, { recursive: true }))

  for (const [command, says, exitCode = 0] of STORY) {
    it(`ends with ${exitCode}: thermolog ${command}`, async () => {
      const args = command.replace('FOLDER', folder).split(' ')
      // Documents have this address, no machine has it.
      const settings = { PORT: '0', ...(command === 'serve' && { HOST: '192.0.2.1' }) }
      const ended = await runProcess(join(folder, 'data'), args, settings)
      expect(ended.stdout + ended.stderr).to.match(says)
      expect(ended.exitCode).to.equal(exitCode)
    })
  }

  it('is tried with every command', async () => {
    const pathsOf = ({ commands }: Command): string[] =>
      commands.flatMap((one) =>
        one.commands.length === 0
          ? [one.name()]
          : pathsOf(one).map((rest) => `${one.name()} ${rest}`),
      )
    const tried = (path: string) => STORY.some(([command]) => `${command} `.startsWith(`${path} `))
    expect(pathsOf(await allCommands()).filter((path) => !tried(path))).to.deep.equal([])
  })
})

describe('main', () => {
  it('leaves the process as it was, and one call does not see another', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'thermolog-'))
    const state = () => ({
      env: { ...process.env },
      folder: process.cwd(),
      exitCode: process.exitCode,
      listeners: process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
    })
    const before = state()
    const emails = ['a@example.org', 'b@example.org']
    const created = await Promise.all(
      emails.map((email) =>
        runCommand(join(folder, email), ['user', 'create', '--email', email, '--json']),
      ),
    )
    expect(created.map(({ exitCode, stderr }) => [exitCode, stderr])).to.deep.equal([
      [0, ''],
      [0, ''],
    ])
    expect(created.map(({ stdout }) => JSON.parse(stdout) as object)).to.deep.equal(
      emails.map((email) => ({ id: 1, email, name: email })),
    )
    const [wrong, help] = await Promise.all([
      runCommand(folder, ['user', 'list'], { PORT: 'x' }),
      runCommand(folder, ['user', '--help']),
    ])
    expect([wrong.exitCode, wrong.stdout, help.exitCode, help.stderr]).to.deep.equal([2, '', 0, ''])
    expect(state()).to.deep.equal(before)
    await rm(folder, { recursive: true })
  })
})
