// Goal: nobody needs an identity provider to sign in for the first time. Method: the real command,
// on a terminal and without one, and a reader of QR codes.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { decodeQR } from 'qr/decode.js'
import { runCommand, serve, serving } from '../support/command.ts'
import { send } from '../support/http.ts'
import { leaveOut } from '../support/left-out.ts'

const COMMAND = fileURLToPath(new URL('../../src/thermolog.js', import.meta.url))
const LINK = /(http:\/\/\S+)\/#\/link\/([A-Za-z0-9_-]{43})/
const code_verifier = 'v'.repeat(43)
/** Pixels of a module: readers want more than one. */
const SCALE = 4

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
    expect([address, alone.stderr.split('\n').length]).to.deep.equal(['http://192.0.2.1:81', 2])
    expect(alone.stdout).to.match(/^\S+\n$/)
    await serving(dataDir, {}, async (url) => {
      expect((await redeem(url, { code, code_verifier })).status).to.equal(200)
      const { stdout } = await runCommand(dataDir, [...order, '--json', '--expires', '1h'])
      const { url: link } = JSON.parse(stdout) as { readonly url: string }
      const again = { code: LINK.exec(link)?.[2], code_verifier }
      expect((await redeem(url, again)).body.data.user.email).to.equal('ana@example.org')
    })
    const tooLong = await runCommand(dataDir, [...order, '--expires', '2d'])
    expect([tooLong.exitCode, tooLong.stderr]).to.deep.equal([
      2,
      'thermolog: a link is valid for at least a second and at most 24 hours\n',
    ])
  })

  it('begins with a link and its QR code where serve is started on a terminal', async function () {
    if (!spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util')) {
      leaveOut(this, 'script')
    }
    const command = `'${process.execPath}' '${COMMAND}' serve`
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: '0', TERM: 'dumb' },
    })
    // A part may end within a character.
    child.stdout.setEncoding('utf8')
    let shown = ''
    for await (const part of child.stdout) {
      shown += String(part)
      if (shown.includes('Only this machine can open it')) break
    }
    const [link, url = '', code] = LINK.exec(shown) ?? []
    expect(readQrCode(shown)).to.equal(link)
    const log = shown.split('\n').filter((line) => line.startsWith('{'))
    expect(log.join('\n')).not.to.include(code)
    const unnamed = await redeem(url, { code, code_verifier })
    expect(unnamed.body.errors).to.have.lengthOf(1)
    expect(unnamed.body.errors[0]).to.include({ pointer: '/email', code: 'required' })
    const email = ' Ana@example.org '
    expect((await redeem(url, { code, code_verifier, email: 'ana' })).status).to.equal(422)
    const { body } = await redeem(url, { code, code_verifier, email, name: 'Ana' })
    expect(body.data.user).to.include({ email: 'Ana@example.org', name: 'Ana' })
    const exited = once(child, 'exit')
    child.stdin.write('\u0003')
    await exited
  })

  it('says elsewhere how to begin, until there is a user', async () => {
    const isSaid = async () => {
      const service = await serve(dataDir)
      expect(await service.stop()).to.equal(0)
      return service.logged.join('\n').includes('nobody can sign in yet')
    }
    expect(await isSaid()).to.equal(true)
    await runCommand(dataDir, ['user', 'create', '--email', 'ana@example.org'])
    expect(await isSaid()).to.equal(false)
  })
})

/** What the code says whose half blocks are drawn on a terminal. */
function readQrCode(shown: string): string {
  const lines = shown.match(/[ ▄▀█]{20,}/g) ?? []
  const rows = lines.flatMap((line) => [
    Array.from(line, (half) => '▀█'.includes(half)),
    Array.from(line, (half) => '▄█'.includes(half)),
  ])
  const size = Math.min(rows.length, rows[0]?.length ?? 0) * SCALE
  const data = new Uint8Array(4 * size * size)
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const isDark = rows[Math.floor(y / SCALE)]?.[Math.floor(x / SCALE)] ?? false
      data.set([...Array<number>(3).fill(isDark ? 0 : 255), 255], 4 * (y * size + x))
    }
  }
  return decodeQR({ width: size, height: size, data })
}
