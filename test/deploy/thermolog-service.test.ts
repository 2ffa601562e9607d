import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { leaveOut } from '../support/left-out.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const INSTALLED = '/opt/thermolog'
const unit = readFileSync(join(ROOT, 'deploy/thermolog.service'), 'utf8')

describe('deploy/thermolog.service', () => {
  it('starts what is in the checkout', () => {
    const [, program = ''] = /^ExecStart=\/opt\/thermolog\/(\S+) serve$/m.exec(unit) ?? []
    expect(() => accessSync(join(ROOT, program), constants.X_OK)).not.to.throw()
  })

  it('is not started again and again when it cannot be, or its settings are wrong', () => {
    const [, never = ''] = /^RestartPreventExitStatus=(.*)$/m.exec(unit) ?? []
    expect(never.split(' ')).to.have.members(['2', '203'])
  })

  it('is a unit that systemd understands, with few rights', function () {
    const { error } = spawnSync('systemd-analyze', ['--version'])
    if (error !== undefined) leaveOut(this, 'systemd-analyze')
    const folder = mkdtempSync(join(tmpdir(), 'thermolog-unit-'))
    const file = join(folder, 'thermolog.service')
    const socket = join(folder, 'thermolog.socket')
    writeFileSync(file, unit.replaceAll(`${INSTALLED}/`, ROOT))
    copyFileSync(join(ROOT, 'deploy/thermolog.socket'), socket)
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', socket, file], {
      encoding: 'utf8',
    })
    const security = ['security', '--offline=yes', '--threshold=11', '--no-pager', file]
    const rated = spawnSync('systemd-analyze', security, { encoding: 'utf8' })
    rmSync(folder, { recursive: true })
    const ofOurs = verified.stderr.split('\n').filter((line) => line.includes('thermolog'))
    expect(ofOurs).to.deep.equal([])
    expect(rated.status, rated.stdout + rated.stderr).to.equal(0)
  })
})
