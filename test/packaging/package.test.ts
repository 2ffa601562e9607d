import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const PROGRAM = fileURLToPath(new URL('../../packaging/package.ts', import.meta.url))

describe('npm run package', () => {
  /** Whatever it is given here, it refuses before it makes anything. */
  function refusal(words: readonly string[], environment: Readonly<Record<string, string>>) {
    const env = { PATH: process.env['PATH'], ...environment }
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM, ...words], { env })
    expect(status).to.equal(1)
    return stderr.toString().trim().split('\n').at(-1)
  }

  it('says what it can be asked for', () => {
    expect(refusal(['x64', 'rpm'], {})).to.equal(
      'package: rpm: say any of x64, arm64, npm, tarball, deb, or nothing',
    )
  })

  it('says which programs are missing', () => {
    const bare = { PATH: '', SOURCE_DATE_EPOCH: '1700000000' }
    const missing = (...words: string[]) => refusal(words, bare)
    expect(missing()).to.match(/^package: GNU tar, gzip, xz must be on PATH \(on Debian: /)
    expect(missing('tarball')).to.match(/^package: GNU tar, gzip must be on PATH/)
  })

  it('says what else may tell the time of the files where Git does not', () => {
    const said = refusal([], { GIT_DIR: join(tmpdir(), 'thermolog-no-such-repository') })
    expect(said).to.match(/^package: Set SOURCE_DATE_EPOCH to the seconds/)
  })
})
