// Goal: what the documents offer to type works as it is written. Method: each block of commands is
// taken from its document and pasted into a shell, in a checkout that the document has to itself;
// or it is named here, with what it needs that a machine with npm alone does not have.

import { existsSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { delimiter } from 'node:path'
import { expect } from 'chai'
import { Checkout, isOnPath, pathOfShell } from '../support/checkout.ts'
import { fencesWithoutLanguage, readCommandBlocks } from '../support/command-blocks.ts'
import type { CommandBlock } from '../support/command-blocks.ts'
import { leaveOut } from '../support/left-out.ts'
import { usePostgresServer } from '../support/postgres.ts'
import { postgresPrograms } from '../support/postgres-server.ts'

const ROOT = new URL('../../', import.meta.url)
const DOCUMENT_MS_MAX = 180_000
const PROGRAMS = ['npm', 'curl', 'awk'] as const

const DOCKER = 'needs a Docker engine: test/faults/containers.test.ts'
const SYSTEMD = 'needs root and systemd: test/deploy/, test/faults/packages.test.ts'

/** Each with the reason, and with what tries it instead. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'CONTRIBUTING.md: npm ci && npm start': 'ends with .ci/run, which runs the others, too',
  'README.md: npm ci && npm start': 'installs, and runs all tests: .ci/try-readme',
  'test/README.md: npm test': 'runs all tests: .ci/run',
  'test/README.md: python3 -m venv node_modules/.cache/schemathesis': 'installs from PyPI: .ci/run',
  'docs/daemon.md: sudo -E python3 examples/daemon/send.py --install read-senso':
    'needs root, systemd and sensors: test/examples/daemon.test.ts runs the daemon',
  'docs/grafana.md: docker compose up --detach': DOCKER,
  'docs/grafana.md: docker compose run --rm --no-deps --entrypoint rm prepare /s': DOCKER,
  'docs/grafana.md: mkdir -m 700 backup': DOCKER,
  'docs/grafana.md: docker compose run --rm prepare': DOCKER,
  'docs/grafana.md: git pull': DOCKER,
  'docs/grafana.md: docker build --tag thermolog .': DOCKER,
  'docs/grafana.md: influx auth create --org ORG --read-bucket BUCKET_ID --descr':
    'needs an InfluxDB and the names in it',
  'packaging/README.md: version=$(bin/node -p "require(\'./package.json\').version")': DOCKER,
  'docs/mobile.md: adb reverse tcp:8080 tcp:8080 && adb reverse tcp:8081 tcp:80':
    'needs an Android phone',
  'docs/mobile.md: npx openapi-typescript https://thermolog.example.org/openapi':
    'needs generators and a service on the internet: test/examples/clients.test.ts',
  'docs/operations.md: sudo apt install ./thermolog_*_amd64.deb': SYSTEMD,
  'docs/operations.md: sudo apt install --no-install-recommends git npm': SYSTEMD,
  'docs/operations.md: sudo apt install --no-install-recommends prometheus promethe': SYSTEMD,
  'docs/operations.md: sudo apt install --allow-downgrades ./thermolog_OLDER_amd64.': SYSTEMD,
  'docs/operations.md: sudo systemctl stop thermolog && sudo systemctl enable --now': SYSTEMD,
  'docs/operations.md: sudo systemctl enable --now thermolog-backup.timer': SYSTEMD,
  'docs/operations.md: sudo systemctl stop thermolog': SYSTEMD,
  'docs/operations.md: set -o pipefail': 'needs restic, borg and repositories of theirs',
  'docs/operations.md: sudo systemctl stop thermolog && sudo mv /var/lib/thermolog ':
    'needs root and btrfs: test/faults/snapshot.test.ts',
  'docs/operations.md: sudo btrfs subvolume snapshot -r /var/lib/thermolog /var/lib':
    'needs root and volumes of three kinds: test/faults/snapshot.test.ts has btrfs',
  'docs/senders.md: rtl_433 -M time:unix:utc -F "influx://thermolog.example:8080':
    'needs a radio receiver',
}

interface Circumstances {
  /** What there is when the commands are typed. Default: a service that runs. */
  readonly service?: 'none' | 'stopped'
  /** Commands that do not end: what shows that they work, before they are interrupted. */
  readonly works?: (checkout: Checkout) => Promise<boolean>
  /** Whether they need an address that others reach. */
  readonly inNetwork?: true
}

/** Those of blocks that do not simply run to their end beside a service. */
const CIRCUMSTANCES: Readonly<Record<string, Circumstances>> = {
  'README.md: npm run demo': {
    service: 'none',
    works: (checkout) => answers(checkout, '/api/mobile/v1/bootstrap', '"client_id"'),
  },
  'docs/daemon.md: bin/thermolog user create --email home@example.org --name "H': {
    works: (checkout) =>
      answers(checkout, '/metrics', 'thermolog_measurements_total{outcome="created"} 1'),
  },
  'docs/mobile.md: npm run demo -- --phone --redirect-uri org.example.app:/call': {
    service: 'none',
    works: (checkout) =>
      answers(checkout, '/api/mobile/v1/bootstrap', '"org.example.app:/callback"'),
    inNetwork: true,
  },
  'docs/scaling.md: createuser thermolog': { service: 'none' },
  'docs/scaling.md: bin/thermolog move --to postgresql://thermolog@db/thermolog': {
    service: 'stopped',
  },
}

/** Documents whose commands need a PostgreSQL that is their own. */
const WITH_POSTGRES = new Set(['docs/scaling.md'])
/** What of such a document stands for the reader's own server. */
const SERVER_IN_DOCUMENT = '@db/'

const HARMFUL_COMMENT = /\S\s+# |^\s*#.*['"`$;&|<>()*?!\\]/

const blocks = readCommandBlocks()
const runnable = blocks.filter(({ name }) => !Object.hasOwn(NOT_RUN, name))

describe('the command blocks of the documents', () => {
  it('say what they are: sh to be typed, another language or text', () => {
    expect(fencesWithoutLanguage()).to.deep.equal([])
  })

  it('can be told apart by how they begin', () => {
    expect(blocks.map(({ name }) => name)).to.deep.equal([
      ...new Set(blocks.map(({ name }) => name)),
    ])
  })

  // It takes them for commands when they are typed, and has no harm done by plain words alone.
  it('have comments that zsh survives: on lines of their own, of plain words', () => {
    const harmful = blocks.flatMap(({ document, line, commands }) =>
      commands.split('\n').flatMap((text, at) => {
        return HARMFUL_COMMENT.test(text) ? [`${document}:${line + 1 + at}`] : []
      }),
    )
    expect(harmful).to.deep.equal([])
  })

  it('are all there that this test names', () => {
    const names = new Set(blocks.map(({ name }) => name))
    const named = [...Object.keys(NOT_RUN), ...Object.keys(CIRCUMSTANCES)]
    expect(named.filter((name) => !names.has(name))).to.deep.equal([])
  })

  it('are tried by something that is there, where this test does not run them', () => {
    const named = Object.values(NOT_RUN).flatMap((reason) => reason.match(/\S+\/\S+/g) ?? [])
    const paths = named.map((name) => name.replace(/,$/, ''))
    const missing = paths.filter((path) => !existsSync(new URL(path, ROOT)))
    expect(missing).to.deep.equal([])
  })

  for (const document of new Set(runnable.map((block) => block.document))) {
    const own = runnable.filter((block) => block.document === document)
    describe(`of ${document}`, () => runAsTyped(document, own))
  }
})

function runAsTyped(document: string, own: readonly CommandBlock[]): void {
  let checkout: Checkout

  before(async function () {
    this.timeout(DOCUMENT_MS_MAX)
    const missing = PROGRAMS.find((program) => !isOnPath(program))
    if (missing !== undefined) leaveOut(this, missing)
    checkout = await Checkout.make()
  })
  after(() => checkout?.remove())
  const postgres = WITH_POSTGRES.has(document) ? usePostgresServer() : undefined

  for (const { name, commands } of own) {
    const { service, works, inNetwork } = CIRCUMSTANCES[name] ?? {}
    it(`${works ? 'works' : 'ends well'}: ${name.replace(/.*?: /, '')}`, async function () {
      this.timeout(DOCUMENT_MS_MAX)
      if (inNetwork && !isInNetwork()) leaveOut(this, 'a network')
      await prepare(checkout, service)
      const typed = checkout.type(
        postgres ? commands.replace(SERVER_IN_DOCUMENT, `@${postgres().host}/`) : commands,
        postgres ? clientSettings(decodeURIComponent(postgres().host)) : {},
      )
      if (works === undefined) return typed.toItsEnd()
      await typed.until('it works', () => works(checkout))
      await typed.interrupt()
    })
  }
}

async function prepare(checkout: Checkout, service: Circumstances['service']): Promise<void> {
  if (service === 'none') return checkout.changePorts()
  await checkout.startService()
  if (service === 'stopped') await checkout.stopService()
}

/** What PostgreSQL's own programs need in order to reach a server as its administrator. */
function clientSettings(host: string) {
  const path = [postgresPrograms(), ...pathOfShell()]
  return { PGHOST: host, PGUSER: 'postgres', PATH: path.join(delimiter) }
}

function isInNetwork(): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  return addresses.some(({ family, internal }) => family === 'IPv4' && !internal)
}

async function answers({ url }: Checkout, path: string, part: string): Promise<boolean> {
  try {
    const response = await fetch(url + path)
    return (await response.text()).includes(part)
  } catch {
    // Nothing listens yet.
    return false
  }
}
