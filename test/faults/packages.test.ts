// Goal: what `npm run package` makes is the same every time, and each artefact works where there is
// nothing else. Method: package two copies of the checkout; then install and run each artefact with
// an empty environment, the one for Debian in a Debian made by debootstrap.

import {
  cpSync,
  existsSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { grouped } from '../../src/domain/grouped.ts'
import { makeBareDebian } from '../support/bare-debian.ts'
import { isOnPath } from '../support/checkout.ts'
import { freePort } from '../support/free-port.ts'
import { leaveOut } from '../support/left-out.ts'
import { becomeNext, NEXT } from '../support/next-version.ts'
import { failBare, packageCopy, runBare, whileServing } from '../support/packaged.ts'
import { ResendingSender } from '../support/resending-sender.ts'

const MANIFEST = fileURLToPath(new URL('../../package.json', import.meta.url))
const { version } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string }
/** A service has senders for so long before, and again after something is done to it. */
const LOAD_MS = 1_000
const MEASUREMENT = { event_id: 'first', sn: '28FF641E93160434', temp: 21.4 }

describe('npm run package', () => {
  let folder = ''
  let dist: string
  before(async function () {
    if (!isOnPath('npm')) leaveOut(this, 'npm')
    folder = await mkdtemp(join(tmpdir(), 'thermolog-artefacts-'))
    dist = await packageCopy(join(folder, 'one'), '022')
  })
  after(async () => {
    if (folder !== '') await rm(folder, { recursive: true })
  })

  it('makes the same bytes from another folder and with another umask', async () => {
    const other = await packageCopy(join(folder, 'another one'), '077')
    const sums = readFileSync(join(dist, 'SHA256SUMS'), 'utf8')
    expect(readFileSync(join(other, 'SHA256SUMS'), 'utf8')).to.equal(sums)
    const made = readdirSync(dist).filter((name) => name !== 'SHA256SUMS')
    expect(sums.match(/ {2}(\S+)$/gm)?.map((line) => line.trim())).to.deep.equal(made.toSorted())
    runBare('sh', ['-c', `cd '${dist}' && sha256sum --check SHA256SUMS`])
  })

  it('makes a tarball that runs with the Node inside it', async () => {
    runBare('tar', ['-xzf', join(dist, `thermolog-${version}-linux-x64.tar.gz`), '-C', folder])
    const command = join(folder, `thermolog-${version}/bin/thermolog`)
    await takesMeasurements(command, '/usr/bin:/bin', 'bin/thermolog')
  })

  it('makes a package that works installed by npm, without a registry', async () => {
    const prefix = join(folder, 'prefix')
    const options = ['--global', '--offline', '--prefix', prefix, '--no-audit', '--no-fund']
    const home = { HOME: folder, PATH: process.env['PATH'] ?? '' }
    runBare('npm', ['install', ...options, join(dist, `thermolog-${version}.tgz`)], home)
    expect(statSync(join(dist, `thermolog-${version}.tgz`)).size).to.be.below(60e6)
    const [size] = runBare('du', ['-sb', join(prefix, 'lib/node_modules/thermolog')]).split('\t')
    expect(Number(size)).to.be.below(190e6)
    const command = join(prefix, 'bin/thermolog')
    await takesMeasurements(command, process.env['PATH'] ?? '', 'thermolog')
  })

  /** Everything from the first user to `verify`. @param named the command, as the page names it */
  async function takesMeasurements(command: string, path: string, named: string): Promise<void> {
    const environment = { PATH: path, DATA_DIR: await mkdtemp(join(folder, 'data-')) }
    const run = (...args: string[]) => runBare(command, args, environment)
    expect(run('--version')).to.equal(`${version}\n`)
    run('user', 'create', '--email', 'a@example.org')
    const token = run('token', 'create', '--user', 'a@example.org', '--name', 'gateway').trim()
    await serveOnce(command, environment, { token, named })
    expect(run('export', '--user', 'a@example.org')).to.include('28FF641E93160434,21.4')
    run('verify')
  }

  describe('makes a package for Debian that', () => {
    let bare: string
    before(async function () {
      bare = join(folder, 'debian')
      await makeBareDebian(this, bare)
      cpSync(join(dist, `thermolog_${version}_amd64.deb`), join(bare, 'thermolog.deb'))
      await makeNext(join(dist, `thermolog_${version}_amd64.deb`))
    })

    const inDebian = (...args: string[]) => runBare('chroot', [bare, ...args])
    const failIn = (...args: string[]) => failBare('chroot', [bare, ...args])
    const data = () => readdirSync(join(bare, 'var/lib/thermolog')).toSorted()

    /** The same package as that of a next version, with other formats. */
    async function makeNext(deb: string): Promise<void> {
      const parts = join(folder, 'parts')
      runBare('dpkg-deb', ['-R', deb, parts])
      const control = join(parts, 'DEBIAN/control')
      await writeFile(control, (await readFile(control, 'utf8')).replace(version, NEXT))
      becomeNext(join(parts, 'usr/lib/thermolog'), 'js')
      const options = ['--root-owner-group', '-Znone', '--build', parts, join(bare, 'next.deb')]
      runBare('dpkg-deb', options)
    }

    it('is installed by one command, with user, settings, unit, manual and completion', () => {
      inDebian('apt-get', 'install', '--yes', '--no-install-recommends', '/thermolog.deb')
      expect(inDebian('thermolog', '--version')).to.equal(`${version}\n`)
      expect(inDebian('getent', 'passwd', 'thermolog')).to.include(
        ':/nonexistent:/usr/sbin/nologin',
      )
      const settings = inDebian('stat', '-c', '%a %U:%G', '/etc/thermolog/thermolog.env')
      expect(settings).to.equal('640 root:thermolog\n')
      const unit = readFileSync(join(bare, 'usr/lib/systemd/system/thermolog.service'), 'utf8')
      const [, program = ''] = /^ExecStart=(\S+) serve$/m.exec(unit) ?? []
      expect(statSync(join(bare, program)).mode & 0o111).to.equal(0o111)
      const wanted = 'etc/systemd/system/multi-user.target.wants/'
      expect(readdirSync(join(bare, wanted))).to.include('thermolog.service')
      expect(existsSync(join(bare, 'usr/lib/systemd/system/thermolog.socket'))).to.equal(true)
      expect(existsSync(join(bare, 'etc/systemd/system/sockets.target.wants'))).to.equal(false)
      expect(inDebian('dpkg', '--verify', 'thermolog')).to.equal('')
      expect(existsSync(join(bare, 'usr/lib/thermolog/docs/daemon.md'))).to.equal(true)
    })

    it('has a command that gives root the settings and user of the service', async () => {
      const settings = join(bare, 'etc/thermolog/thermolog.env')
      const shipped = await readFile(settings)
      inDebian('thermolog', 'user', 'create', '--email', 'a@example.org')
      const made = ['control.db', 'ledger.db'].map((name) => `/var/lib/thermolog/${name}`)
      expect(inDebian('stat', '-c', '%U', ...made)).to.equal('thermolog\n'.repeat(2))
      await writeFile(join(bare, '.env'), 'DATA_DIR=/srv/other\n')
      expect(inDebian('thermolog', 'user', 'list')).to.include('a@example.org')
      await writeFile(settings, 'DATA_DIR="/var/lib/thermolog/\\$it\'s" #other # comment\n')
      inDebian('thermolog', 'user', 'create', '--email', 'b@example.org')
      expect(data()).to.include("$it's#other # comment")
      expect(inDebian('thermolog', 'user', 'list')).to.include('b@example.org')
      expect(inDebian('thermolog', 'user', 'list')).not.to.include('a@example.org')
      await writeFile(settings, shipped)
      await rm(join(bare, '.env'))
    })

    it('has a command that knows what was changed of the unit', async () => {
      const changes = join(bare, 'etc/systemd/system/thermolog.service.d')
      await mkdir(changes)
      const unit = '[Service]\nLoadCredential=DATABASE_URL:/etc/thermolog/database\n'
      await writeFile(join(changes, 'override.conf'), unit)
      await writeFile(join(bare, 'etc/thermolog/database'), 'file:of-root\n', { mode: 0o600 })
      expect(failIn('thermolog', 'user', 'list')).to.include('DATABASE_URL must be')
      await rm(join(bare, 'etc/thermolog/database'))
      expect(failIn('thermolog', 'user', 'list')).to.include("'/etc/thermolog/database'")
      await rm(join(changes, 'override.conf'))
      await mkdir(join(changes, 'folder.conf'))
      symlinkSync('/nowhere', join(changes, 'dangling.conf'))
      const general = join(bare, 'usr/local/lib/systemd/system/service.d')
      await mkdir(general, { recursive: true })
      const named = '[Unit]\n[Service] \nEnvironment=DATA_DIR=/var/lib/thermolog/general\n'
      await writeFile(join(general, 'data.conf'), named)
      expect(failIn('thermolog', 'user', 'list')).to.include('/var/lib/thermolog/general has no')
      inDebian('chmod', '600', '/usr/local/lib/systemd/system/service.d/data.conf')
      const asAnother = ['setpriv', '--reuid=65534', 'thermolog', 'user', 'list']
      expect(failIn(...asAnother)).to.include('`sudo thermolog …`')
      inDebian('chmod', '700', '/usr/local/lib/systemd/system/service.d')
      expect(failIn(...asAnother)).to.include('`sudo thermolog …`')
      await rm(general, { recursive: true })
      await rm(changes, { recursive: true })
    })

    it('has a command that tells root what is wrong, and which file says so', async () => {
      const settings = join(bare, 'etc/thermolog/thermolog.env')
      const changes = join(bare, 'etc/systemd/system/thermolog.service.d')
      const shipped = await readFile(settings)
      const port = String(await freePort())
      await writeFile(settings, `PORT=${port}\nMETRICS_TOKEN=of-the-operator\n`)
      const right = inDebian('thermolog', 'doctor')
      expect(right).to.match(/^ok +memory .* with 0 event ids; MemoryHigh= of \S+ is 1\.0 GiB$/m)
      expect(right).to.match(/^DATA_DIR +\/var\/lib\/thermolog +\S+\/system\/thermolog\.service$/m)
      expect(right).to.match(new RegExp(`^PORT +${port} +/etc/thermolog/thermolog\\.env$`, 'm'))
      expect(right).to.match(/^METRICS_TOKEN +\(hidden\) +\/etc\/thermolog\/thermolog\.env$/m)
      expect(right).not.to.match(/^WRONG|of-the-operator/m)
      // The service's user may not read it.
      await mkdir(changes, { mode: 0o700 })
      await writeFile(join(changes, 'small.conf'), '[Service]\nMemoryHigh=150M\n', { mode: 0o600 })
      const [, , first = ''] = inDebian('sh', '-c', '! thermolog doctor').split('\n')
      expect(first).to.match(/^WRONG +memory .* but MemoryHigh= of \S+ is 150\.0 MiB$/)
      inDebian('chown', 'root:root', '/var/lib/thermolog/control.db')
      const [, , owner = ''] = inDebian('sh', '-c', '! thermolog doctor').split('\n')
      inDebian('chown', 'thermolog:thermolog', '/var/lib/thermolog/control.db')
      await writeFile(settings, shipped)
      await rm(changes, { recursive: true })
      expect(owner).to.match(/^WRONG +data_dir .*control\.db \(EACCES\), which belongs to uid 0 /)
    })

    it('has a command that leads from the service to nothing of root', async () => {
      const changes = join(bare, 'etc/systemd/system/thermolog.service.d')
      const look = join(bare, 'look.cjs')
      await mkdir(changes)
      // Runs in every Node of root's that is told so, and never in that of the service's user.
      await writeFile(look, 'if (process.getuid() !== 0) process.exit(3)\n')
      const uid = inDebian('id', '-u', 'thermolog').trim()
      await writeFile(join(changes, 'override.conf'), `[Service]\nUser=${uid}\nGroup=\n`)
      const order = ['env', 'NODE_OPTIONS=--require=/look.cjs', 'thermolog', 'user', 'list']
      expect(inDebian(...order)).to.include('a@example.org')
      await rm(join(bare, 'usr/lib/thermolog/node_modules/.cache'), { recursive: true })
      inDebian('sh', '-c', 'umask 000; exec thermolog user list')
      const open = inDebian('find', '/usr/lib/thermolog/node_modules/.cache', '-perm', '/022')
      expect(open).to.equal('')
      await rm(look)
      await rm(changes, { recursive: true })
    })

    it('has a command that refuses a unit that starts something else', async () => {
      const unit = join(bare, 'etc/systemd/system/thermolog.service')
      await writeFile(unit, '[Service]\nUser=thermolog\nExecStart=/opt/wrapper serve\n')
      await writeFile(join(bare, '.env'), 'DATA_DIR=/srv/other\n')
      const said = failIn('thermolog', 'user', 'create', '--email', 'c@example.org')
      expect(said).to.include('/etc/systemd/system/thermolog.service starts /opt/wrapper')
      expect(said).to.include('set DATA_DIR')
      expect(existsSync(join(bare, 'data'))).to.equal(false)
      expect(existsSync(join(bare, 'srv/other'))).to.equal(false)
      expect(inDebian('thermolog', '--version')).to.equal(`${version}\n`)
      await rm(unit)
      await rm(join(bare, '.env'))
    })

    it('has a command that tells everybody else what to do, and makes nothing', () => {
      const said = failIn('setpriv', '--reuid=65534', 'thermolog', 'user', 'list')
      expect(said).to.include('`sudo thermolog …`')
      const create = ['thermolog', 'user', 'create', '--email', 'c@example.org']
      expect(failIn('env', '--chdir=/tmp', 'setpriv', '--reuid=65534', ...create)).to.equal(said)
      expect(readdirSync(join(bare, 'tmp'))).to.deep.equal([])
    })

    it('is upgraded and taken back with settings and data as they were', async () => {
      const settings = join(bare, 'etc/thermolog/thermolog.env')
      await writeFile(settings, 'APP_NAME=Cellar\n')
      await mkdir(join(bare, 'var/lib/thermolog/kept'))
      inDebian('dpkg', '--install', '/next.deb')
      expect(inDebian('thermolog', '--version')).to.equal(`${NEXT}\n`)
      inDebian('dpkg', '--install', '/thermolog.deb')
      expect(inDebian('thermolog', '--version')).to.equal(`${version}\n`)
      expect(await readFile(settings, 'utf8')).to.equal('APP_NAME=Cellar\n')
      expect(data()).to.include('kept')
    })

    it('is upgraded under load to other formats, and taken back with what that kept', async () => {
      const port = String(await freePort())
      const settings = { PORT: port, RATE_LIMIT_REQUESTS: '0' }
      inDebian('thermolog', 'user', 'create', '--email', 'c@example.org')
      const order = ['token', 'create', '--user', 'c@example.org', '--name', 'gateway']
      const token = inDebian('thermolog', ...order).trim()
      const sender = new ResendingSender('CELLAR', `http://127.0.0.1:${port}`, token)
      const serveUntil = (work: () => void) =>
        whileServing(['chroot', bare, 'thermolog'], settings, async () => {
          await setTimeout(LOAD_MS)
          work()
          await setTimeout(LOAD_MS)
        })
      await serveUntil(() => inDebian('dpkg', '--install', '/next.deb'))
      await serveUntil(() => inDebian('dpkg', '--install', '/thermolog.deb'))
      const refused = failIn('env', 'PORT=0', 'thermolog', 'serve')
      const [, backup = ''] = /(before-upgrade\/thermolog-\w+\.tar)/.exec(refused) ?? []
      inDebian('mv', '/var/lib/thermolog', '/var/lib/thermolog-newer')
      inDebian('install', '-d', '-o', 'thermolog', '-m', '700', '/var/lib/thermolog')
      inDebian('thermolog', 'restore', `/var/lib/thermolog-newer/${backup}`)
      await serveUntil(() => undefined)
      await whileServing(['chroot', bare, 'thermolog'], settings, async () => {
        await sender.stop()
        await sender.sendAgain()
      })
      const checked = `${grouped(sender.count)} measurements of 1 sensor`
      expect(inDebian('thermolog', 'verify')).to.include(checked)
    })

    it('leaves the data when it is purged, and says where they are', () => {
      const before = data()
      const said = inDebian('dpkg', '--purge', 'thermolog')
      expect(said).to.include('they stay in /var/lib/thermolog')
      expect(data()).to.deep.equal(before)
      expect(existsSync(join(bare, 'usr/lib/thermolog'))).to.equal(false)
      expect(existsSync(join(bare, 'etc/thermolog'))).to.equal(false)
    })

    describe('takes the place of one that was unpacked', () => {
      const units = () => join(bare, 'etc/systemd/system')
      const wanted = () => join(units(), 'multi-user.target.wants')
      const settings = () => join(bare, 'etc/thermolog/thermolog.env')
      const install = ['apt-get', 'install', '--yes', '/thermolog.deb']

      beforeEach(async () => {
        const tarball = join(dist, `thermolog-${version}-linux-x64.tar.gz`)
        runBare('install', ['-d', '-m', '755', join(bare, 'opt/thermolog')])
        const options = ['--strip-components=1', '-C', join(bare, 'opt/thermolog')]
        runBare('tar', ['-xzf', tarball, ...options])
        await mkdir(dirname(settings()), { recursive: true })
        await writeFile(settings(), 'APP_NAME="The Cellar"\n', { mode: 0o600 })
        const [unit, socket] = ['thermolog.service', 'thermolog.socket']
        cpSync(join(bare, 'opt/thermolog/deploy', unit), join(units(), unit))
        symlinkSync(`/opt/thermolog/deploy/${socket}`, join(units(), socket))
        symlinkSync(`/etc/systemd/system/${unit}`, join(wanted(), unit))
        const command = join(bare, 'usr/local/bin/thermolog')
        symlinkSync('../../../opt/thermolog/bin/thermolog', command)
      })
      afterEach(async () => {
        inDebian('dpkg', '--purge', 'thermolog')
        await rm(join(bare, 'opt/thermolog'), { recursive: true })
      })

      it('whose command worked for root too, with its settings, data and enabled unit', () => {
        const typed = ['/usr/local/bin/thermolog', 'user', 'list']
        expect(inDebian(...typed)).to.include('a@example.org')
        const before = data()
        inDebian(...install)
        expect(inDebian('thermolog', 'user', 'list')).to.include('a@example.org')
        expect(data()).to.deep.equal(before)
        expect(readFileSync(settings(), 'utf8')).to.equal('APP_NAME="The Cellar"\n')
        expect(statSync(settings()).mode & 0o777).to.equal(0o600)
        const left = readdirSync(units()).filter((name) => name.startsWith('thermolog'))
        expect(left).to.deep.equal(['thermolog.service.dpkg-old', 'thermolog.socket.dpkg-old'])
        const link = readlinkSync(join(wanted(), 'thermolog.service'))
        expect(link).to.match(/^(\/usr)?\/lib\/systemd\/system\/thermolog\.service$/)
        expect(readdirSync(join(bare, 'usr/local/bin'))).to.deep.equal([])
      })

      it('with what was changed of its unit, and of where its settings are', async () => {
        const unit = join(units(), 'thermolog.service')
        const changed = (await readFile(unit, 'utf8'))
          .replace('MemoryHigh=1G', 'Environment=APP_NAME=\\c\\n')
          .replace('/opt/thermolog/', '/opt/thermolog-0.1.0/')
        await writeFile(unit, changed)
        await writeFile(`${unit}.dpkg-old`, 'older')
        await rm(settings())
        symlinkSync('/srv/not-mounted', settings())
        inDebian(...install)
        const moved = changed.replace('/opt/thermolog-0.1.0/', '/usr/lib/thermolog/')
        expect(await readFile(unit, 'utf8')).to.equal(moved)
        expect(await readFile(`${unit}.dpkg-old`, 'utf8')).to.equal(changed)
        expect(readdirSync(units())).to.include('thermolog.service.dpkg-old.~1~')
        expect(readlinkSync(settings())).to.equal('/srv/not-mounted')
        inDebian('dpkg', '--install', '/next.deb')
        expect(await readFile(unit, 'utf8')).to.equal(moved)
        expect(await readFile(`${unit}.dpkg-old`, 'utf8')).to.equal(changed)
        await rm(unit)
      })

      it('that was disabled, though interrupted while it does, and had no user yet', async () => {
        await rm(join(wanted(), 'thermolog.service'))
        inDebian('sh', '-c', 'userdel thermolog && groupadd --system thermolog')
        const fatal = join(bare, 'usr/local/sbin/mv')
        await writeFile(fatal, '#!/bin/sh\n/bin/mv "$@"\nkill $PPID\n', { mode: 0o755 })
        inDebian('sh', '-c', '! PATH=/usr/local/sbin:$PATH dpkg --install /thermolog.deb')
        expect(existsSync(join(units(), 'thermolog.service'))).to.equal(false)
        await rm(fatal)
        inDebian('dpkg', '--configure', '--pending')
        expect(readdirSync(wanted())).not.to.include('thermolog.service')
        expect(inDebian('id', '-gn', 'thermolog')).to.equal('thermolog\n')
      })
    })
  })
})

/** Runs the service for one measurement, and looks at its pages. */
async function serveOnce(
  command: string,
  environment: Readonly<Record<string, string>>,
  { token, named }: { readonly token: string; readonly named: string },
): Promise<void> {
  await whileServing([command], { ...environment, PORT: '0' }, async (url) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(MEASUREMENT) }
    expect((await fetch(`${url}/api/v1/measurements`, request)).status).to.equal(201)
    const page = await (await fetch(url)).text()
    expect(page).to.include(`<meta name="thermolog-command" content="${named}" />`)
    expect((await fetch(`${url}/docs`)).status).to.equal(200)
    expect((await fetch(`${url}/docs/daemon.md`)).status).to.equal(200)
  })
}
