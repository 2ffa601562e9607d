// Goal: whoever reads a failed run sees which test failed, why, with which seed, and what a test
// that hung had waited for. Method: mocha, as `npm test` starts it, on files made to fail.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const MOCHA = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'))
const UNTIL = fileURLToPath(new URL('support/until.ts', import.meta.url))
const FAST_CHECK = fileURLToPath(import.meta.resolve('fast-check'))

const HANGING = `
import { until } from '${UNTIL}'
it('waits for the moon', () => until('the moon is blue', () => false, 1_000))
`
const RANDOM = `
import * as fc from '${FAST_CHECK}'
it('has no zero', () => fc.assert(fc.property(fc.nat(9), (n) => n > 9), { seed: 7 }))
`

describe('a failed run of tests', () => {
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-failed-'))
  })

  after(() => rm(folder, { recursive: true }))

  /** What it told in all, and what in short. */
  async function runMocha(source: string, ...options: string[]): Promise<[string, string]> {
    const file = join(folder, 'made-to-fail.test.ts')
    const failures = join(folder, 'failures')
    await writeFile(file, source)
    await rm(failures, { force: true })
    const child = spawn(process.execPath, [MOCHA, ...options, file], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], FAILURES_FILE: failures },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [told] = await Promise.all([text(child.stdout), once(child, 'close')])
    expect(child.exitCode, told).to.equal(1)
    return [told, await readFile(failures, 'utf8')]
  }

  it('says what a test that hung had waited for', async () => {
    for (const kind of ['--parallel', '--no-parallel']) {
      const told = await runMocha(HANGING, kind, '--timeout', '100')
      for (const part of told) {
        expect(part).to.include('waits for the moon').and.include('It waited for: the moon is blue')
      }
    }
  })

  it('gives the file, the name, the first lines and the seed', async () => {
    const [, short] = await runMocha(RANDOM)
    expect(short).to.match(/^.*made-to-fail\.test\.ts: has no zero\n {4}Property failed/)
    expect(short).to.include('seed: 7')
    expect(short.trim().split('\n').length).to.be.below(7)
  })
})
