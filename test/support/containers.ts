// docker-compose.yml on a real Docker engine, in a project of its own: its containers, volumes,
// networks and image are those of nobody else, and are gone afterwards.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { leaveOut } from './left-out.ts'
import { copyCheckout, packageCopy } from './packaged.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Of this process alone, where several use one engine. */
const SUBNET = `10.214.${process.pid % 256}`
const GATEWAY = `${SUBNET}.1`

/** Leaves out the suite where there is no engine, no compose, or not every image to build on. */
export function needDocker(context: Mocha.Context): void {
  const succeeds = (args: readonly string[]) => spawnSync('docker', args).status === 0
  if (!succeeds(['version'])) leaveOut(context, 'a Docker engine')
  if (!succeeds(['compose', 'version'])) leaveOut(context, 'docker compose')
  if (!succeeds(['image', 'inspect', ...baseImages(), influxImage()])) {
    leaveOut(context, 'base images')
  }
}

/** What the Dockerfile begins with, but for its own stages. */
function baseImages(): string[] {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  return [...dockerfile.matchAll(/^FROM (\S+:\S+)/gm)].map(([, image]) => image ?? '')
}

function influxImage(): string {
  const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')) as {
    readonly services: { readonly influxdb: { readonly image: string } }
  }
  return compose.services.influxdb.image
}

export interface Finished {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export class Containers {
  readonly url: string
  readonly #project = `thermolog-test-${process.pid}`
  readonly #folder = mkdtempSync(join(tmpdir(), 'thermolog-containers-'))
  readonly #overrides: string

  /** @param settings of the service, beside those of the compose file */
  constructor(port: number, settings: Readonly<Record<string, string>>) {
    this.url = `http://127.0.0.1:${port}`
    this.#overrides = join(this.#folder, 'overrides.yml')
    const lines = [
      'services:',
      '  thermolog:',
      `    image: ${this.#project}`,
      `    ports: !override ['127.0.0.1:${port}:8080']`,
      `    environment: ${JSON.stringify(settings)}`,
      '  prepare:',
      `    image: ${this.#project}`,
      'networks:',
      '  front: !override',
      `    ipam: { config: [{ subnet: ${SUBNET}.0/24, gateway: ${GATEWAY} }] }`,
    ]
    writeFileSync(this.#overrides, `${lines.join('\n')}\n`)
  }

  /**
   * Makes the image, of a checkout that nobody but its owner can read, as after `umask 077`.
   *
   * @param label makes an image that is another one, as that of another version is
   * @param packaged whether there is a tarball already
   */
  async build(label: string, packaged: boolean): Promise<void> {
    const checkout = join(this.#folder, label)
    const args = ['build', '--tag', this.#project, '--label', `test=${label}`]
    if (packaged) {
      const dist = await packageCopy(checkout, '077', ['tarball'])
      const tarball = readdirSync(dist).find((name) => name.endsWith('.tar.gz'))
      args.push('--build-arg', `TARBALL=dist/${tarball}`)
    } else copyCheckout(checkout)
    spawnSync('chmod', ['-R', 'go=', checkout])
    await this.docker([...args, checkout])
  }

  async docker(args: readonly string[], input = ''): Promise<Finished> {
    const finished = await this.tryDocker(args, input)
    if (finished.exitCode === 0) return finished
    throw new Error(`docker ${args.join(' ')}:\n${finished.stdout}${finished.stderr}`)
  }

  async tryDocker(args: readonly string[], input = ''): Promise<Finished> {
    const env = { ...process.env, TRUST_PROXY: GATEWAY }
    const child = spawn('docker', args, { cwd: ROOT, env, stdio: 'pipe' })
    child.stdin.end(input)
    const [stdout, stderr, [exitCode]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null]>,
    ])
    return { exitCode, stdout, stderr }
  }

  /** @returns what it prints */
  async compose(...args: readonly string[]): Promise<string> {
    const { stdout } = await this.docker([...this.#composed, ...args])
    return stdout.trim()
  }

  async tryCompose(...args: readonly string[]): Promise<Finished> {
    return await this.tryDocker([...this.#composed, ...args])
  }

  /** The command `thermolog` in the container of the service. */
  async thermolog(...args: readonly string[]): Promise<string> {
    return await this.compose('exec', '-T', 'thermolog', 'thermolog', ...args)
  }

  async inspect(service: string, format: string): Promise<string> {
    const id = await this.compose('ps', '--all', '--quiet', service)
    return (await this.docker(['inspect', '--format', format, id])).stdout.trim()
  }

  async remove(): Promise<void> {
    await this.compose('down', '--volumes', '--timeout', '0')
    await this.tryDocker(['image', 'rm', '--force', this.#project])
    rmSync(this.#folder, { recursive: true })
  }

  get #composed(): string[] {
    const files = ['--file', join(ROOT, 'docker-compose.yml'), '--file', this.#overrides]
    return ['compose', '--project-name', this.#project, ...files]
  }
}
