import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import { bashCompletion, manualPage } from '../../packaging/manual.ts'
import { leaveOut } from '../support/left-out.ts'

describe('the manual page', () => {
  it('has every command with its options, and the time of the release', async () => {
    const page = await manualPage({ version: '1.2.3', commit: undefined, madeAtS: 86_400 })
    expect(page).to.include('.TH THERMOLOG 1 "1970-01-02" "Thermolog 1.2.3"')
    expect(page).to.include('.B token create [options]').and.include('.B \\-\\-sn\\-prefix')
    expect(page).to.include('.B verify').and.include('/var/lib/thermolog')
  })
})

describe('the completion for bash', () => {
  let script: string
  before(async function () {
    if (spawnSync('bash', ['--version']).error !== undefined) leaveOut(this, 'bash')
    script = await bashCompletion()
  })

  /** @param typed the last word is being typed */
  function complete(typed: string): string[] {
    const ask = `${script}
      COMP_WORDS=(${typed.replace(/ $/, " ''")}); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
      _thermolog; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout, stderr } = spawnSync('bash', ['-c', ask], { encoding: 'utf8' })
    expect(stderr).to.equal('')
    return stdout.split('\n').filter((word) => word !== '')
  }

  it('offers commands, then what a command has', () => {
    expect(complete('thermolog ')).to.include.members(['serve', 'user', 'verify'])
    expect(complete('thermolog ve')).to.deep.equal(['verify'])
    expect(complete('thermolog token ')).to.include.members(['create', 'rotate', 'revoke'])
    expect(complete('thermolog user link --ex')).to.deep.equal(['--expires'])
  })

  it('offers options behind an argument and behind options', () => {
    expect(complete('thermolog user link a@example.org --ex')).to.deep.equal(['--expires'])
    expect(complete('thermolog user create --email a@example.org --na')).to.deep.equal(['--name'])
  })
})
