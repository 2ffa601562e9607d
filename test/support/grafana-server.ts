// A real Grafana with the repository's provisioning, where `grafana` is on PATH: its data sources
// point to a service of the test, and secrets come from a folder of the test. Only its server is
// needed, not its pages.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

const PROVISIONING = fileURLToPath(new URL('../../grafana/provisioning/', import.meta.url))
const DASHBOARDS = fileURLToPath(new URL('../../grafana/dashboards/', import.meta.url))
const HOMES = [process.env['GRAFANA_HOME'] ?? '', '/usr/share/grafana', '/opt/grafana']
const START_MS_MAX = 90_000
const PASSWORD = 'admin-of-a-test'

export function hasGrafana(): boolean {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.some((folder) => existsSync(join(folder, 'grafana'))) && homeOf() !== undefined
}

function homeOf(): string | undefined {
  return HOMES.find((home) => home !== '' && existsSync(join(home, 'conf/defaults.ini')))
}

export interface GrafanaOrder {
  /** Where the service is. */
  readonly url: string
  readonly token: string
  /** Changes the text of a file of the provisioning. */
  readonly change?: (text: string) => string
  /** Where each alert is posted, by itself and at once. */
  readonly webhook?: string
}

export class GrafanaServer {
  readonly #port: number
  readonly #directory: string
  #child: ChildProcess
  #log = ''

  private constructor(port: number, directory: string) {
    this.#port = port
    this.#directory = directory
    this.#child = this.#spawn()
  }

  /** Starts one that knows Thermolog alone, as beside docker-compose.replicas.yml. */
  static async start(order: GrafanaOrder): Promise<GrafanaServer> {
    const directory = await mkdtemp(join(tmpdir(), 'thermolog-grafana-'))
    await provision(directory, order)
    const server = new GrafanaServer(await freePort(), directory)
    await server.#waitUntilReady()
    return server
  }

  #spawn(): ChildProcess {
    const directory = this.#directory
    const settings = {
      GF_SERVER_HTTP_ADDR: '127.0.0.1',
      GF_SERVER_HTTP_PORT: String(this.#port),
      GF_PATHS_DATA: join(directory, 'data'),
      GF_PATHS_LOGS: join(directory, 'logs'),
      GF_PATHS_PLUGINS: join(directory, 'plugins'),
      GF_PATHS_PROVISIONING: join(directory, 'provisioning'),
      // When its Alertmanager learns of what is provisioned.
      GF_UNIFIED_ALERTING_ALERTMANAGER_CONFIG_POLL_INTERVAL: '1s',
      GF_SECURITY_ADMIN_PASSWORD: PASSWORD,
      GF_ANALYTICS_REPORTING_ENABLED: 'false',
      GF_ANALYTICS_CHECK_FOR_UPDATES: 'false',
      GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES: 'false',
      GF_PLUGINS_PREINSTALL_DISABLED: 'true',
      GF_PLUGINS_PUBLIC_KEY_RETRIEVAL_DISABLED: 'true',
    }
    const child = spawn('grafana', ['server', '--homepath', homeOf() ?? ''], {
      env: { PATH: process.env['PATH'], HOME: directory, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (this.#log += chunk.toString()))
    }
    return child
  }

  /** Lines that tell of an error. */
  get errors(): readonly string[] {
    const isError = /level=error/
    // A server that was built without its pages.
    const hasNoPages = /generated javascript files/
    return this.#log.split('\n').filter((line) => isError.test(line) && !hasNoPages.test(line))
  }

  async ask(path: string, body?: object): Promise<{ status: number; body: unknown }> {
    const credentials = Buffer.from(`admin:${PASSWORD}`).toString('base64')
    const answer = await fetch(`http://127.0.0.1:${this.#port}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    })
    return { status: answer.status, body: await answer.json() }
  }

  async restart(): Promise<void> {
    await this.#end()
    this.#child = this.#spawn()
    await this.#waitUntilReady()
  }

  async stop(): Promise<void> {
    await this.#end()
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #end(): Promise<void> {
    if (this.#child.exitCode !== null) return
    this.#child.kill('SIGTERM')
    await once(this.#child, 'exit')
  }

  async #waitUntilReady(): Promise<void> {
    const isReady = () => {
      if (this.#child.exitCode !== null) throw new Error('Grafana has ended')
      return this.ask('/api/dashboards/uid/thermolog-sensors').then(
        ({ status }) => status === 200,
        () => false,
      )
    }
    try {
      await until('Grafana is ready', isReady, START_MS_MAX)
    } catch (error) {
      throw new Error(`Grafana does not start: ${this.#log.slice(-4_000)}`, { cause: error })
    }
  }
}

async function provision(
  directory: string,
  { url, token, change, webhook }: GrafanaOrder,
): Promise<void> {
  const secrets = join(directory, 'secrets')
  await mkdir(secrets)
  await writeFile(join(secrets, 'thermolog-token'), `${token}\n`)
  await cp(PROVISIONING, join(directory, 'provisioning'), { recursive: true })
  await rm(join(directory, 'provisioning/datasources/influxdb.yml'))
  for (const folder of ['plugins', 'data']) await mkdir(join(directory, folder))
  await mkdir(join(directory, 'provisioning/plugins'))
  const files = await readdir(join(directory, 'provisioning'), { recursive: true })
  for (const file of files.filter((name) => name.endsWith('.yml'))) {
    const path = join(directory, 'provisioning', file)
    const text = (await readFile(path, 'utf8'))
      .replaceAll('http://thermolog:8080', url)
      .replaceAll('/run/secrets/thermolog', secrets)
      .replaceAll('/var/lib/thermolog/dashboards', join(DASHBOARDS, 'thermolog'))
    await writeFile(path, change?.(text) ?? text)
  }
  if (webhook === undefined) return
  const told = join(directory, 'provisioning/alerting/told.yml')
  await writeFile(told, stringify(toldBy(webhook)))
}

function toldBy(url: string): object {
  const receivers = [{ uid: 'told', type: 'webhook', settings: { url } }]
  const route = { receiver: 'told', group_by: ['...'], group_wait: '1s', group_interval: '1s' }
  return { apiVersion: 1, contactPoints: [{ name: 'told', receivers }], policies: [route] }
}
