// `thermolog refused`: what an operator is shown of what was refused, and told to do about it.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand, serveHere } from '../support/command.ts'
import type { ServiceHere } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'

const ANA = 'ana@example.org'
const BEN = 'ben@example.org'

describe('thermolog refused', () => {
  let dataDir = ''
  let service: ServiceHere | undefined

  const run = (...args: string[]) => runCommand(dataDir, ['refused', ...args])
  const rows = (text: string) => JSON.parse(text) as Readonly<Record<string, unknown>>[]

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    const tokens = [await createFleetToken(dataDir, ANA), await createFleetToken(dataDir, BEN)]
    service = await serveHere(dataDir)
    for (const token of tokens) {
      const headers = { authorization: `Bearer ${token}` }
      for (const body of ['a', 'b', 'c', 'humidity,room=a x=1\nhumidity,room=b x=1']) {
        await fetch(`${service.url}/write`, { method: 'POST', headers, body })
      }
    }
    // At once: what was skipped is noted when it stops.
    await service.stop()
    service = await serveHere(dataDir)
  })
  after(async () => {
    await service?.stop()
    await rm(dataDir, { recursive: true })
  })

  it('lists the newest first, with names, and says how many more there are', async () => {
    const { stdout, stderr } = await run('list', '--limit', '4')
    const [header = '', ...lines] = stdout.trimEnd().split('\n')
    expect(header.split(/ +/).slice(0, 5)).to.deep.equal([
      'id',
      'user_id',
      'user',
      'token_id',
      'token',
    ])
    expect(lines.map((line) => line.split(/ +/).slice(0, 5).join(' '))).to.deep.equal([
      `6 2 ${BEN} 2 gateway`,
      `5 2 ${BEN} 2 gateway`,
      `4 2 ${BEN} 2 gateway`,
      `3 1 ${ANA} 1 gateway`,
    ])
    expect(stderr).to.match(
      /^and 2 more\n`bin\/thermolog refused retry` stores .*drop` deletes it\n$/,
    )
  })

  it('lists the oldest first, of one user', async () => {
    const { stdout, stderr } = await run('list', '--user', BEN, '--oldest', '--json')
    expect(rows(stdout).map(({ id, user, token, content }) => [id, user, token, content])).to.eql([
      [4, BEN, 'gateway', 'a'],
      [5, BEN, 'gateway', 'b'],
      [6, BEN, 'gateway', 'c'],
    ])
    expect(stderr).to.equal('')
  })

  it('lists what was skipped until the service stopped, with what to do', async () => {
    const { stdout, stderr } = await run('list', '--skipped', '--user', ANA, '--limit', '1')
    expect(stdout).to.match(/user_id +user +count +last_at +line\n1 +ana@example\.org +1 /)
    expect(stderr).to.match(/^and 1 more\nLINE_FIELDS adds names of fields .*: set it and restart/)
  })

  it('refuses choices that it does not know', async () => {
    const refused = {
      'a limit': [['--limit', '10001'], /--limit is 1 to 10,000, not 10001/],
      'a user': [['--user', 'eve@example.org'], /no user has the address eve@example\.org/],
      'an order': [['--skipped', '--oldest'], /'--oldest' cannot be used with .*'--skipped'/],
    } as const
    for (const [what, [args, says]] of Object.entries(refused)) {
      const { exitCode, stderr, stdout } = await run('list', ...args)
      expect(stderr, what).to.match(says)
      expect([exitCode, stdout], what).to.deep.equal([what === 'a user' ? 1 : 2, ''])
    }
  })

  it('names items that there are none of, before it asks', async () => {
    for (const order of [
      ['retry', '99', '5'],
      ['drop', '5', '99'],
      ['drop', '99', '--yes'],
    ]) {
      const { exitCode, stderr } = await run(...order)
      const says = 'thermolog: no refused item has the id 99\nSee `bin/thermolog refused list`. '
      expect(stderr).to.equal(`${says}Nothing was changed.\n`)
      expect(exitCode).to.equal(1)
    }
  })

  it('says how much was refused again', async () => {
    const { stderr } = await run('retry', '5', '6')
    expect(stderr).to.equal(
      'stored 0 refused items\n2 refused again: `bin/thermolog refused list` says why\n',
    )
    expect(rows((await run('list', '--json')).stdout)).to.have.lengthOf(6)
  })
})
