// Goal: nobody needs an identity provider to sign in for the first time. Method: the real command,
// on a terminal and without one, and a reader of QR codes.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import { networkAddress } from '../../src/config-values.ts'
import { runCommand, serve, servingHere } from '../support/command.ts'
import { send } from '../support/http.ts'
import { leaveOut } from '../support/left-out.ts'
import { readQrCode } from '../support/qr-code.ts'
import { until } from '../support/until.ts'

const COMMAND = fileURLToPath(new URL('../../src/thermolog.js', import.meta.url))
const LINK = /(http:\/\/\S+)\/#\/link\/([A-Za-z0-9_-]{43}1?)/
const code_verifier = 'v'.repeat(43)

describe('signing in without a provider', () => {
  let dataDir = ''
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
  })
  afterEach(() => rm(dataDir, { recursive: true }))

  const redeem = (url: string, body: object) =>
    send(url, { method: 'POST', path: '/api/mobile/v1/auth/link', body })

  it('takes a link of the operator, with a service or without', async () => {
    await runCommand(dataDir, ['user', 'create', '--email', 'ana@example.org'])
    const order = ['user', 'link', 'ana@example.org']
    const alone = await runCommand(dataDir, order, { HOST: '192.0.2.1', PORT: '81' })
    const [, address, code] = LINK.exec(alone.stdout) ?? []
    expect(code).to.have.lengthOf(43)
    expect([address, alone.stderr.split('\n').length]).to.deep.equal(['http://192.0.2.1:81', 2])
    expect(alone.stdout).to.match(/^\S+\n$/)
    expect(alone.stderr).to.match(/^It works once, until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.\n$/)
    await servingHere(dataDir, {}, async (url) => {
      expect((await redeem(url, { code, code_verifier })).status).to.equal(200)
      const { stdout } = await runCommand(dataDir, [...order, '--json', '--expires', '1h'])
      const { url: link } = JSON.parse(stdout) as { readonly url: string }
      const again = { code: LINK.exec(link)?.[2], code_verifier }
      expect((await redeem(url, again)).body.data.user.email).to.equal('ana@example.org')
    })
    const tooLong = await runCommand(dataDir, [...order, '--expires', '2d'])
    expect([tooLong.exitCode, tooLong.stderr]).to.deep.equal([
      2,
      'thermolog: --expires is at most 24h, not 2d\n',
    ])
  })

  it('begins on a terminal with three lines: address, data, link', async function () {
    if (!hasScript()) leaveOut(this, 'script')
    const terminal = await serveOnTerminal(dataDir, { MAX_CONNECTIONS: '1000000' })
    const [warning = '', ...lines] = terminal.lines
    expect(warning).to.match(/^\d{4}-\d\d-\d\dT[\d:]{8}Z warn: fewer connections are possible /)
    const [link, url = '', code] = LINK.exec(terminal.lines.join('\n')) ?? []
    expect(lines).to.deep.equal([
      `Thermolog is at ${url} (only this machine can open it)`,
      `Data are kept in ${dataDir}`,
      `Become its first user: ${link}`,
    ])
    // Clients ask at once who that is.
    expect(code).to.match(/^.{43}1$/)
    const unnamed = await redeem(url, { code, code_verifier })
    expect(unnamed.body.errors).to.have.lengthOf(1)
    expect(unnamed.body.errors[0]).to.include({ pointer: '/email', code: 'required' })
    const email = ' Ana@example.org '
    expect((await redeem(url, { code, code_verifier, email: 'ana' })).status).to.equal(422)
    const { body } = await redeem(url, { code, code_verifier, email, name: 'Ana' })
    expect(body.data.user).to.include({ email: 'Ana@example.org', name: 'Ana' })
    await terminal.interrupt()
    const again = await serveOnTerminal(dataDir, {})
    expect(again.lines).to.have.lengthOf(2)
    await again.interrupt()
  })

  it('shows phones a QR code of its address in the network above the link', async function () {
    const address = networkAddress()
    if (!hasScript()) leaveOut(this, 'script')
    if (address === undefined) leaveOut(this, 'a network')
    const terminal = await serveOnTerminal(dataDir, { HOST: '0.0.0.0' })
    const [first, , ...rest] = terminal.lines
    const [link = '', url = ''] = LINK.exec(rest.at(-1) ?? '') ?? []
    const { hostname: host, port } = new URL(url)
    expect(host).to.equal(address)
    expect(first).to.equal(`Thermolog is at ${url} or http://${hostname()}:${port}`)
    expect(readQrCode(rest.join('\n'))).to.equal(link)
    expect(terminal.lines.join('\n')).not.to.match(/0\.0\.0\.0|\{/)
    // The link takes two rows, the cursor one.
    expect(terminal.lines.length + 2).to.be.at.most(24)
    await terminal.interrupt()
    await runCommand(dataDir, ['user', 'create', '--email', 'ana@example.org'])
    const settings = { HOST: '0.0.0.0', PORT: '80' }
    const later = await runCommand(dataDir, ['user', 'link', 'ana@example.org'], settings)
    expect(LINK.exec(later.stdout)?.[1]).to.equal(`http://${address}:80`)
    const named = later.stdout.replace(address, hostname())
    expect(later.stderr).to.match(/^It works once, /)
    expect(later.stderr.split('\n')[1]).to.equal(`By this machine's name: ${named.trim()}`)
  })

  it('says elsewhere how to begin, until there is a user', async () => {
    const isSaid = async () => {
      const service = await serve(dataDir)
      expect(await service.stop()).to.equal(0)
      return /nobody can sign in yet.*`bin\/thermolog user cre/.test(service.logged.join('\n'))
    }
    expect(await isSaid()).to.equal(true)
    await runCommand(dataDir, ['user', 'create', '--email', 'ana@example.org'])
    expect(await isSaid()).to.equal(false)
  })
})

function hasScript(): boolean {
  return spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util')
}

/** The service on a terminal. @returns the lines shown there until it is ready, without colours */
async function serveOnTerminal(dataDir: string, settings: Record<string, string>) {
  const command = `'${process.execPath}' '${COMMAND}' serve`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: '0', TERM: 'dumb', ...settings },
  })
  // A part may end within a character.
  child.stdout.setEncoding('utf8')
  let shown = ''
  child.stdout.on('data', (part) => (shown += String(part)))
  await until('the terminal is quiet', async () => {
    const before = shown
    await setTimeout(300)
    return shown === before && /Data are kept in .*\r\n/.test(shown)
  })
  const exited = once(child, 'exit')
  const interrupt = async () => {
    child.stdin.write('\u0003')
    await exited
  }
  return { lines: stripVTControlCharacters(shown).trimEnd().split('\r\n'), interrupt }
}
