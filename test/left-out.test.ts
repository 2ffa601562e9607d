// Goal: a run says in one line for each missing program which tests it has left out, and how many.
// Method: mocha, as `npm test` starts it, on files that want programs, with none on PATH.

import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { leaveOut } from './support/left-out.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const MOCHA = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'))
const FILES = [
  'test/deploy/thermolog-service.test.ts',
  'test/influx/bucket-check.test.ts',
  'test/data-dir/archive.test.ts',
]

describe('a run of tests', () => {
  for (const kind of ['--parallel', '--no-parallel']) {
    it(`ends with what was left out, with ${kind}`, () => {
      const options = { cwd: ROOT, env: { PATH: '' }, encoding: 'utf8' } as const
      const args = [MOCHA, kind, '--jobs', '2', ...FILES]
      const { status, stdout } = spawnSync(process.execPath, args, options)
      expect(status, stdout).to.equal(0)
      const [told = '', end = ''] = stdout.split(/\d+ passing/)
      expect(told).to.include('gives back every file').and.not.include('left out')
      expect(told).not.to.include('checkInfluxBucket')
      expect(end).to.match(/influxd: \d+ tests left out: put it on PATH, or set INFLUX_TEST_URL/)
      expect(end).to.include('systemd-analyze: 1 test left out: put it on PATH (Debian: systemd)')
      expect(end).to.include('tar: 1 test left out: put it on PATH')
      expect(end.match(/left out/g)).to.have.lengthOf(3)
    })
  }

  it('is followed by one of what it left out alone, where that is there', async function () {
    if (spawnSync('tar', ['--version']).error !== undefined) leaveOut(this, 'tar')
    const folder = await mkdtemp(join(tmpdir(), 'thermolog-left-out-'))
    const [file, args] = [join(folder, 'left-out'), [MOCHA, 'test/data-dir/archive.test.ts']]
    const run = (environment: NodeJS.ProcessEnv) => {
      const { PATH } = process.env
      const options = { cwd: ROOT, env: { PATH, ...environment }, encoding: 'utf8' } as const
      const { stdout } = spawnSync(process.execPath, args, options)
      return Number(/(\d+) passing/.exec(stdout)?.[1])
    }
    const without = run({ PATH: '', LEFT_OUT_FILE: file })
    expect(without).to.be.above(1)
    expect(run({ LEFT_OUT_BEFORE: file })).to.equal(1)
    expect(run({})).to.equal(without + 1)
    await rm(folder, { recursive: true })
  })
})
