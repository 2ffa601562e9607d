import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config.ts'
import { leaveOut } from '../support/left-out.ts'

const ROOT = new URL('../../', import.meta.url)
const RUN_ONCE = new Set(['prepare', 'grafana-token'])
const VERSION = /:v?\d+\.\d+(\.\d+(-alpine)?)?$/

interface ComposeService {
  readonly image: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly restart?: string
  readonly ports?: readonly string[]
  readonly networks: readonly string[]
  readonly volumes: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly logging: { readonly options: Readonly<Record<string, string>> }
  readonly mem_limit: string
  readonly pids_limit: number
  readonly stop_signal?: string
  readonly scale?: number
  readonly command?: readonly string[]
  readonly entrypoint?: readonly string[]
}

interface Network {
  readonly internal?: boolean
  readonly ipam?: {
    readonly config: readonly { readonly subnet: string; readonly gateway?: string }[]
  }
}

interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly networks: Readonly<Record<string, Network>>
}

function readCompose(file: string) {
  const compose = parse(readText(file), { merge: true }) as ComposeFile
  const services = Object.entries(compose.services)
  const mounts = services.flatMap(([name, { volumes }]) =>
    volumes.map((mount) => {
      const [source = '', target = '', mode = 'rw'] = mount.split(':')
      return { name, source, target, mode }
    }),
  )
  return { compose, services, mounts }
}

function readText(file: string): string {
  return readFileSync(new URL(file, ROOT), 'utf8')
}

for (const kind of ['', '.replicas']) {
  const file = `docker-compose${kind}.yml`
  describe(file, () => {
    const { compose, services, mounts } = readCompose(file)

    it('gives no service more rights than it needs', () => {
      for (const [name, service] of services) {
        expect(service.read_only, name).to.equal(true)
        expect(service.cap_drop, name).to.deep.equal(['ALL'])
        expect(service.security_opt, name).to.deep.equal(['no-new-privileges:true'])
      }
    })

    it('checks the health of whatever keeps running, and starts it again', () => {
      for (const [name, { healthcheck, restart }] of services) {
        const runsOnce = RUN_ONCE.has(name)
        expect(restart, name).to.equal(runsOnce ? 'no' : 'unless-stopped')
        expect(healthcheck?.disable === true, name).to.equal(runsOnce)
        // Thermolog's is that of its image.
        if (name !== 'thermolog') expect(healthcheck, name).not.to.equal(undefined)
      }
      expect(readText('Dockerfile')).to.match(/^HEALTHCHECK /m)
    })

    it('lets nothing take all memory, all processes or all of the disk with its log', () => {
      for (const [name, service] of services) {
        expect(service.mem_limit, name).to.match(/^[1-4]g$/)
        expect(service.pids_limit, name).to.be.within(128, 256)
        expect(service.logging.options, name).to.deep.equal({ 'max-size': '10m', 'max-file': '3' })
      }
    })

    it('names a version of each image to the last digit', () => {
      for (const [name, { image }] of services) {
        if (image !== 'thermolog') expect(image, name).to.match(VERSION)
      }
    })

    it('runs programs that the image has', () => {
      const programs = services.flatMap(
        ([, { entrypoint }]) => entrypoint?.filter((word) => word.startsWith('/')) ?? [],
      )
      expect(programs).to.have.lengthOf(services.filter(([name]) => RUN_ONCE.has(name)).length)
      for (const program of programs) {
        const [, name] = /^\/usr\/lib\/thermolog\/(docker\/.*)\.js$/.exec(program) ?? []
        expect(existsSync(new URL(`${name}.ts`, ROOT)), program).to.equal(true)
      }
    })

    it('holds no secret itself', () => {
      const settings = services.flatMap(([, service]) => Object.entries(service.environment ?? {}))
      for (const [name, value] of settings) {
        if (/PASSWORD|TOKEN|SECRET|(?<!PUBLIC_)KEY/.test(name)) expect(name).to.match(/_FILE$/)
        expect(value, name).not.to.match(/[A-Za-z0-9_-]{40}/)
      }
    })

    it('mounts volumes and folders that exist', () => {
      for (const { source } of mounts) {
        const isThere = source.startsWith('.')
          ? existsSync(new URL(source, ROOT))
          : Object.hasOwn(compose.volumes, source)
        expect(isThere, source).to.equal(true)
      }
      const used = mounts.map(({ source }) => source)
      expect(used).to.include.members(Object.keys(compose.volumes))
    })
  })
}

describe('docker-compose.yml', () => {
  const { compose, services, mounts } = readCompose('docker-compose.yml')

  it('offers ports to this machine alone, and none of InfluxDB', () => {
    const ports = services.flatMap(([, service]) => service.ports ?? [])
    expect(ports).to.have.lengthOf(2)
    for (const port of ports) expect(port).to.match(/^127\.0\.0\.1:\d+:\d+$/)
    expect(compose.services['influxdb']?.networks).to.deep.equal(['store'])
    expect(compose.services['prometheus']?.networks).to.deep.equal(['watch'])
    expect(compose.networks['store']?.internal).to.equal(true)
    expect(compose.networks['watch']?.internal).to.equal(true)
  })

  it('stops InfluxDB with the signal at which it closes its files', () => {
    expect(compose.services['influxdb']?.stop_signal).to.equal('SIGINT')
  })

  it('trusts the address from which whatever comes through the port comes', () => {
    const gateways = compose.networks['front']?.ipam?.config.map(({ gateway }) => gateway)
    const trusted = compose.services['thermolog']?.environment?.['TRUST_PROXY']
    expect(gateways).to.have.lengthOf(1)
    expect(trusted).to.equal(`\${TRUST_PROXY:-${gateways?.[0]}}`)
  })

  it('starts readers of secrets when the secrets are there', () => {
    const conditions = services.map(([name, service]) => [name, service.depends_on ?? {}])
    expect(Object.fromEntries(conditions)).to.deep.equal({
      thermolog: { prepare: { condition: 'service_completed_successfully' } },
      prepare: { influxdb: { condition: 'service_started' } },
      influxdb: {},
      grafana: { prepare: { condition: 'service_completed_successfully' } },
      prometheus: { prepare: { condition: 'service_completed_successfully' } },
      'grafana-token': {},
    })
  })

  it('lets secrets be written by the first step alone, but for the token of Grafana', () => {
    const secrets = mounts.filter(({ source }) => source.endsWith('-secrets'))
    const writers = secrets.filter(({ mode }) => mode === 'rw').map(({ name }) => name)
    expect(writers.filter((name) => name !== 'prepare')).to.deep.equal(['grafana-token'])
    const readers = secrets.filter(({ mode }) => mode === 'ro')
    expect(readers.map(({ name, source }) => `${name} ${source}`)).to.have.members([
      'thermolog thermolog-secrets',
      'grafana-token thermolog-secrets',
      'grafana grafana-secrets',
      'prometheus prometheus-secrets',
    ])
  })

  it('has the files of secrets where they are looked for', () => {
    const provisioning = ['thermolog', 'influxdb']
      .map((name) => readText(`grafana/provisioning/datasources/${name}.yml`))
      .join('')
    const [, credentialsFile = ''] =
      /credentials_file: (\S+)/.exec(readText('prometheus/prometheus.yml')) ?? []
    const files = {
      grafana: [
        compose.services['grafana']?.environment?.['GF_SECURITY_ADMIN_PASSWORD__FILE'] ?? '',
        ...[...provisioning.matchAll(/\$__file\{([^}]+)\}/g)].map(([, file]) => file ?? ''),
      ],
      prometheus: [credentialsFile],
    }
    const written = readText('docker/secret-files.ts')
    for (const [reader, wanted] of Object.entries(files)) {
      const mount = mounts.find(
        ({ name, source }) => name === reader && source.endsWith('-secrets'),
      )
      const target = mount?.target ?? ''
      for (const file of wanted) {
        expect(file.startsWith(`${target}/`), file).to.equal(true)
        expect(written).to.include(`'${reader}${file.slice(target.length)}'`)
      }
    }
  })
})

describe('the image', () => {
  const dockerfile = readText('Dockerfile')
  const packageJson = JSON.parse(readText('package.json')) as {
    readonly optionalDependencies: Readonly<Record<string, string>>
  }

  it('is built of all that Git knows, for else it would call itself changed', () => {
    const patterns = (file: string) =>
      (readText(file).match(/^[^#!\s].*$/gm) ?? []).map((line) =>
        line.replace(/^\*\*\//, '').replace(/^\/|\/\*?$/g, ''),
      )
    const kept = patterns('.dockerignore')
    expect(kept).to.have.members(['.git/config', ...patterns('.gitignore')])
  })

  it('is built with the Node that is in it', () => {
    const [, node] = /^FROM node:(\S+)-slim AS node$/m.exec(dockerfile) ?? []
    expect(new Set(Object.values(packageJson.optionalDependencies))).to.have.all.keys([node])
  })

  it('runs as somebody who is not root', () => {
    const users = [...dockerfile.matchAll(/^USER (.*)$/gm)].map(([, user]) => user)
    expect(users).to.deep.equal(['thermolog'])
  })
})

describe('docker-compose.replicas.yml', () => {
  const { compose, mounts } = readCompose('docker-compose.replicas.yml')

  it('offers the proxy and Grafana alone, and to this machine alone', () => {
    const ports = Object.entries(compose.services).map(([name, service]) => [name, service.ports])
    expect(Object.fromEntries(ports)).to.deep.equal({
      proxy: ['127.0.0.1:8080:8080'],
      thermolog: undefined,
      prepare: undefined,
      postgres: undefined,
      grafana: ['127.0.0.1:3000:3000'],
      'grafana-token': undefined,
    })
    expect(compose.services['postgres']?.networks).to.deep.equal(['store'])
    expect(compose.networks['store']?.internal).to.equal(true)
    expect(compose.networks['middle']?.internal).to.equal(true)
  })

  it('runs two processes, which trust the proxies before them', () => {
    const { scale, environment } = compose.services['thermolog'] ?? {}
    expect(scale).to.equal(2)
    const [middle] = compose.networks['middle']?.ipam?.config ?? []
    const [front] = compose.networks['front']?.ipam?.config ?? []
    expect(environment?.['TRUST_PROXY']).to.equal(
      `${middle?.subnet},\${TRUST_PROXY:-${front?.gateway}}`,
    )
  })

  it('makes the password once, where PostgreSQL and the service look for it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'thermolog-secrets-'))
    const prepare = () => {
      const program = fileURLToPath(new URL('docker/prepare-postgres.ts', ROOT))
      const args = [program, '--host=postgres', `--directory=${directory}`]
      expect(spawnSync(process.execPath, args).status).to.equal(0)
      return {
        password: readFileSync(join(directory, 'postgres/password'), 'utf8'),
        settings: readFileSync(join(directory, 'thermolog/.env'), 'utf8'),
      }
    }
    const { password, settings } = prepare()
    expect(prepare()).to.deep.equal({ password, settings })
    const { database } = loadConfig(parseEnv(settings))
    expect(database?.url).to.equal(`postgresql://thermolog:${password}@postgres:5432/thermolog`)
    await rm(directory, { recursive: true })
    const target = mounts.find(({ name, mode }) => name === 'postgres' && mode === 'ro')?.target
    const file = compose.services['postgres']?.environment?.['POSTGRES_PASSWORD_FILE']
    expect(file).to.equal(`${target}/password`)
  })

  it('gives the database the settings of the guide', () => {
    const [, settings = ''] =
      /```ini\n(checkpoint_timeout[^`]*)```/.exec(readText('docs/scaling.md')) ?? []
    const wanted = settings
      .matchAll(/^(\w+) = (\S+)/gm)
      .map(([, name, value]) => `${name}=${value}`)
    expect(compose.services['postgres']?.command).to.include.members([...wanted])
  })

  it('has a proxy that understands its settings', function () {
    const settings = fileURLToPath(new URL('docker/haproxy/haproxy.cfg', ROOT))
    const { error, status, stdout } = spawnSync('haproxy', ['-c', '-f', settings])
    if (error !== undefined) leaveOut(this, 'haproxy')
    expect(status, stdout?.toString()).to.equal(0)
  })
})
