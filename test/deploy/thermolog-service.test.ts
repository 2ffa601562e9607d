import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const INSTALLED = '/opt/thermolog'
const unit = readFileSync(join(ROOT, 'deploy/thermolog.service'), 'utf8')

describe('deploy/thermolog.service', () => {
  it('starts what is in the checkout', () => {
    const [, program = '', script = ''] =
      /^ExecStart=\/opt\/thermolog\/(\S+) \/opt\/thermolog\/(\S+) serve$/m.exec(unit) ?? []
    expect(program).to.equal('node_modules/.bin/node')
    expect(existsSync(join(ROOT, script)), script).to.equal(true)
  })

  it('is a unit that systemd understands, with few rights', function () {
    if (spawnSync('systemd-analyze', ['--version']).error !== undefined) {
      process.stderr.write('      SKIPPED: there is no systemd-analyze here\n')
      this.skip()
    }
    const folder = mkdtempSync(join(tmpdir(), 'thermolog-unit-'))
    const file = join(folder, 'thermolog.service')
    const here = unit
      .replace(`${INSTALLED}/node_modules/.bin/node`, process.execPath)
      .replaceAll(INSTALLED, ROOT)
    writeFileSync(file, here)
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    })
    const security = ['security', '--offline=yes', '--threshold=25', '--no-pager', file]
    const rated = spawnSync('systemd-analyze', security, { encoding: 'utf8' })
    rmSync(folder, { recursive: true })
    const ofOurs = verified.stderr.split('\n').filter((line) => line.includes('thermolog'))
    expect(ofOurs).to.deep.equal([])
    expect(rated.status, rated.stdout + rated.stderr).to.equal(0)
  })
})
