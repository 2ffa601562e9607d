// Goal: the nightly backup has the rights of the service and none more but for its folder, and its
// command does what the unit is for. Method: both units, read; the command, run.

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { runProcess } from '../support/command.ts'
import { leaveOut } from '../support/left-out.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const INSTALLED = '/opt/thermolog/'
const FOLDER = '/var/backups/thermolog'
const NAMES = ['thermolog-backup.service', 'thermolog-backup.timer']
/** What a unit says of its process that is neither its user, its settings nor its rights. */
const OTHER = /^(Type|NotifyAccess|Exec|Restart|Timeout|Watchdog|Limit|Memory|Tasks|CPU|IO)/

const read = (name: string) => readFileSync(join(ROOT, 'deploy', name), 'utf8')
const unit = read('thermolog-backup.service')

function rightsOf(text: string): string[] {
  const [, section = ''] = /^\[Service\]\n([^[]*)/m.exec(text) ?? []
  return section.split('\n').filter((line) => /^\w+=/.test(line) && !OTHER.test(line))
}

describe('deploy/thermolog-backup.service', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'thermolog-unit-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('runs as the service does, with its folder instead of a network', () => {
    const ours = rightsOf(unit)
    const ofService = rightsOf(read('thermolog.service'))
    expect(ours).to.have.lengthOf.above(30)
    expect(ours.filter((line) => !ofService.includes(line))).to.have.members([
      `ReadWritePaths=-${FOLDER}`,
      'RestrictAddressFamilies=AF_UNIX',
    ])
    expect(ofService.filter((line) => !ours.includes(line))).to.have.members([
      'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX',
    ])
  })

  it('writes a backup into the folder that it has made', async () => {
    expect(unit).to.match(/^ExecStartPre=\+.*install -d .*-m 700 \/var\/backups\/thermolog$/m)
    const [, command = ''] = /^ExecStart=\/opt\/thermolog\/bin\/thermolog (.*)$/m.exec(unit) ?? []
    const dataDir = join(folder, 'data')
    const kept = join(folder, 'kept')
    mkdirSync(kept)
    await runProcess(dataDir, ['user', 'create', '--email', 'ana@example.org'])
    const made = await runProcess(dataDir, command.replace(FOLDER, kept).split(' '))
    expect(made.exitCode, made.stderr).to.equal(0)
    expect(readdirSync(kept)).to.have.lengthOf(1)
  })

  it('and its timer are units that systemd understands', function () {
    const { error } = spawnSync('systemd-analyze', ['--version'])
    if (error !== undefined) leaveOut(this, 'systemd-analyze')
    const files = NAMES.map((name) => join(folder, name))
    for (const [at, file] of files.entries()) {
      writeFileSync(file, read(NAMES[at] ?? '').replaceAll(INSTALLED, ROOT))
    }
    const options = ['verify', '--man=no', ...files]
    const { stderr } = spawnSync('systemd-analyze', options, { encoding: 'utf8' })
    expect(stderr.split('\n').filter((line) => line.includes('thermolog'))).to.deep.equal([])
  })
})
