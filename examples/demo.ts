// `npm run demo`: the service with a user, a token, an identity provider and a simulated fleet that
// sends over real HTTP; the chart page, signed in, and lines to paste. Its data are in ./demo-data;
// delete that to begin anew, or start it again: event ids are made from sensor and time, so nothing
// is stored twice. `npm run demo -- --help` lists its options.

import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Command, InvalidArgumentError } from 'commander'
import { qrCode } from '../src/cli/terminal/link.ts'
import { networkAddress } from '../src/config-values.ts'
import {
  authorize,
  PUBLIC_CLIENT,
  publicClient,
  startOpenIdProvider,
} from '../test/support/openid-provider.ts'
import type { SignInProvider } from '../test/support/openid-provider.ts'
import { backfill, FLEET, nameSensors, startFleet } from './fleet.ts'
import type { Target } from './fleet.ts'
import { findDatabase, startProxy } from './replicas.ts'

const PROGRAM = fileURLToPath(new URL('../src/thermolog.js', import.meta.url))
const DATA_DIR = process.env['DATA_DIR'] ?? './demo-data'
const PORT = process.env['PORT'] ?? '8080'
const PAGE_URL = `http://127.0.0.1:${PORT}/`
/** The same at each start: a person is known by issuer and subject. */
const PROVIDER_PORT = Number(PORT) + 1
const OWNER = 'demo@example.org'
const ENVIRONMENT: NodeJS.ProcessEnv = {
  ...process.env,
  DATA_DIR,
  HOST: '127.0.0.1',
  PORT,
  LOG_LEVEL: 'warn',
  IDP_DEMO_ISSUER: `http://127.0.0.1:${PROVIDER_PORT}`,
  IDP_DEMO_CLIENT_ID: PUBLIC_CLIENT,
  IDP_DEMO_LABEL: 'the demo',
}
interface Options {
  readonly replicas?: number
  readonly phone?: true
  /** Of your app. */
  readonly redirectUri?: readonly string[]
}

const WRONG_USAGE = 2
const SEND_EVERY_MS = 2_000
/** Leaves for the provider at once, which asks nobody. */
const SIGNED_IN_URL = `${PAGE_URL}#/sign-in/demo`

const WEEK_BY_DAY = '/api/v1/sensors/1/measurements?bucket=day&tz=Europe/Berlin'

const run = promisify(execFile)

async function thermolog(...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [PROGRAM, ...args], { env: ENVIRONMENT })
  return stdout.trim()
}

async function createOwner(): Promise<string> {
  // Fails where the owner is there; where something else is wrong, so does what follows.
  await thermolog('user', 'create', '--email', OWNER, '--name', 'Demo').catch(() => undefined)
  return thermolog('token', 'create', '--user', OWNER, '--name', 'demo', '--expires', '1d')
}

/** Signs in as an app does: from then on links of the owner are good, too. */
async function createMobileToken(url: string): Promise<string> {
  const grant = await authorize(await reachedProvider(url), 'demo')
  const response = await fetch(`${url}/api/mobile/v1/auth/demo`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-App-Name': 'curl' },
    body: JSON.stringify(grant),
  })
  if (!response.ok) throw new Error(await response.text())
  const { data } = (await response.json()) as { data: { token: string } }
  return data.token
}

/** The service looks for its providers in the background. */
async function reachedProvider(url: string): Promise<SignInProvider> {
  const response = await fetch(`${url}/api/mobile/v1/bootstrap`)
  const { data } = (await response.json()) as { data: { sign_in_providers: SignInProvider[] } }
  const [provider] = data.sign_in_providers
  if (provider?.authorization_endpoint) return provider
  await setTimeout(200)
  return reachedProvider(url)
}

async function startService(port: string): Promise<{ service: ChildProcess; url: string }> {
  const env = { ...ENVIRONMENT, PORT: port, LOG_LEVEL: 'info' }
  const service = spawn(process.execPath, [PROGRAM, 'serve'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface(service.stdout)) {
    const event = JSON.parse(line) as { message: string; url?: string }
    if (event.message === 'ready' && event.url !== undefined) {
      // What comes later is not shown, but has to be read.
      service.stdout.resume()
      return { service, url: event.url }
    }
  }
  throw new Error(`the service did not start; is port ${PORT} in use? Try PORT=8081 npm run demo`)
}

/** As many as were asked for on one PostgreSQL, behind one address; by default one on its own. */
async function startServices(replicas: number) {
  if (replicas === 0) {
    const { service, url } = await startService(PORT)
    return { url, services: [service], closeProxy: () => undefined }
  }
  const started = await Promise.all(Array.from({ length: replicas }, () => startService('0')))
  const ports = started.map(({ url }) => Number(new URL(url).port))
  const closeProxy = await startProxy(Number(PORT), ports)
  const services = started.map(({ service }) => service)
  return { url: new URL(PAGE_URL).origin, services, closeProxy }
}

function explainProcesses(services: readonly ChildProcess[]): string {
  const pids = services.map(({ pid }) => pid).join(', ')
  return services.length > 1 ? `\nKill one of the processes ${pids}: the others go on.\n` : ''
}

function explain({ url, token }: Target, services: readonly ChildProcess[]): string {
  const header = `-H 'Authorization: Bearer ${token}'`
  return `
Ready. ${FLEET.length} sensors send every ${SEND_EVERY_MS / 1000} s; Ctrl-C ends it.
${explainProcesses(services)}
  ${SIGNED_IN_URL}     the chart page, signed in

Paste these into another terminal:

  # the sensors, online or not, with their latest values
  curl -s ${header} ${url}/api/v1/sensors

  # the last day of the first sensor, in a bucket that suits a chart
  curl -s ${header} '${url}/api/v1/sensors/1/measurements'

  # its last week by local day, as a table
  curl -s ${header} -H 'Accept: text/csv' '${url}${WEEK_BY_DAY}&from=${daysAgo(7)}'

  # one measurement of your own; send it twice: it is stored once
  curl -s ${header} -H 'Content-Type: application/json' ${url}/api/v1/measurements \\
    -d '{"event_id":"mine-1","sn":"my-first-sensor","temp":21.4}'

  # what the service says of itself
  curl -s ${url}/readyz
`
}

/** For whoever writes an app. */
function explainToApps(url: string, mobileToken: string): string {
  const header = `-H 'Authorization: Bearer ${mobileToken}'`
  const { DATABASE_URL: database, PUBLIC_URL: publicUrl = url } = ENVIRONMENT
  const data = database === undefined ? `DATA_DIR='${DATA_DIR}'` : `DATABASE_URL='${database}'`
  return `
As an app does, with a mobile token; the Android emulator has this as http://10.0.2.2:${PORT}

  # what to know before sign-in
  curl -s ${url}/api/mobile/v1/bootstrap

  # everything for the first page
  curl -s ${header} ${url}/api/mobile/v1/dashboard

  # a chart
  curl -s ${header} '${url}/api/mobile/v1/sensors/1/measurements?bucket=hour&fill=null'

  # what has changed since a cursor, and what changes now
  curl -s ${header} ${url}/api/mobile/v1/changes
  curl -sN ${header} ${url}/api/mobile/v1/events

  # an app, here
  bin/node examples/app.ts ${url} ${mobileToken}

  # a one-time link
  ${data} PUBLIC_URL=${publicUrl} bin/thermolog user link ${OWNER}
`
}

/** The last that is shown, and no more than a terminal of 24 rows has. */
function explainToPhones(link: string): string {
  return `
Your app on a phone in this network calls ${ENVIRONMENT['PUBLIC_URL']}
Scan this for the chart page, or with your app: once, within a day.
${qrCode(link)}${link}
`
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10) + 'T00:00:00Z'
}

/** @returns why no phone could reach it */
function listenInNetwork(replicas: number): string | undefined {
  const address = networkAddress()
  if (address === undefined) return 'this machine is in no network, where a phone could reach it'
  if (replicas > 0) return 'not with --replicas, which only this machine can reach'
  ENVIRONMENT['HOST'] = '0.0.0.0'
  ENVIRONMENT['PUBLIC_URL'] = `http://${address}:${PORT}`
  return undefined
}

/** Ends the process after help, and with 2 after wrong usage. */
function readOptions(): Options {
  const command = new Command('npm run demo --')
    .description('The service with simulated sensors, and the chart page, signed in.')
    .option('--phone', 'for phones in this network, with a link as a QR code')
    .option('--redirect-uri <uri>', 'your app can sign in, too; repeat it for several', collect)
    .option('--replicas <count>', 'so many processes, on one PostgreSQL', readCount)
    .addHelpText(
      'after',
      '\nPORT and DATA_DIR in the environment choose others. See docs/mobile.md.',
    )
    .showHelpAfterError('See npm run demo -- --help.')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : WRONG_USAGE))
  return command.parse().opts()
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

function readCount(text: string): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a positive integer.')
}

async function main(): Promise<void> {
  const options = readOptions()
  const { redirectUri = [], replicas = 0 } = options
  const redirectUris = [...redirectUri, PAGE_URL]
  ENVIRONMENT['MOBILE_REDIRECT_URIS'] = redirectUris.join(',')
  const trouble = options.phone ? listenInNetwork(replicas) : undefined
  if (trouble !== undefined) {
    process.stderr.write(`--phone: ${trouble}\n`)
    process.exitCode = 1
    return
  }
  const database = replicas > 0 ? await findDatabase() : undefined
  if (database !== undefined) ENVIRONMENT['DATABASE_URL'] = database.url
  const token = await createOwner()
  const provider = await startOpenIdProvider(
    { clients: [publicClient(...redirectUris)] },
    PROVIDER_PORT,
  )
  provider.people.set('demo', { email: OWNER, email_verified: true, name: 'Demo' })
  const { services, url: boundUrl, closeProxy } = await startServices(replicas)
  const url = options.phone ? new URL(PAGE_URL).origin : boundUrl
  const target = { url, token }
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
  const ended = Promise.all(services.map((service) => once(service, 'exit')))
  void ended.then(() => stopping.abort())
  const mobileToken = await createMobileToken(url)
  const explanation = [explain(target, services), explainToApps(url, mobileToken)]
  if (options.phone) {
    explanation.push(explainToPhones(await thermolog('user', 'link', OWNER, '--expires', '24h')))
  }
  try {
    await simulatePast(target, stopping.signal)
    process.stdout.write(explanation.join(''))
    openBrowser()
    await simulateNow(target, stopping.signal)
  } catch (error) {
    // The service may be gone before we are.
    if (!stopping.signal.aborted) throw error
  } finally {
    closeProxy()
    for (const service of services) service.kill('SIGTERM')
    await ended
    await provider.stop()
    await database?.stop()
  }
}

async function simulatePast(target: Target, stopping: AbortSignal): Promise<void> {
  await backfill(target, stopping, (share) => {
    process.stderr.write(`\rsending a year of measurements … ${Math.round(share * 100)} %`)
  })
  await nameSensors(target)
  process.stderr.write('\n')
}

/** Says when measurements begin to wait, and when they no longer do. */
async function simulateNow(target: Target, stopping: AbortSignal): Promise<void> {
  const send = startFleet(target)
  let wereStored = true
  for (;;) {
    const areStored = await send()
    if (areStored !== wereStored) {
      const state = areStored ? 'are stored' : 'wait: the service does not take them'
      process.stdout.write(`measurements ${state}\n`)
    }
    wereStored = areStored
    await setTimeout(SEND_EVERY_MS, undefined, { signal: stopping })
  }
}

/** Where there is none the address is there to be read. */
function openBrowser(): void {
  const hasScreen = process.env['DISPLAY'] ?? process.env['WAYLAND_DISPLAY']
  if (process.platform === 'linux' && hasScreen === undefined) return
  const command = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open'
  const browser = spawn(command, [SIGNED_IN_URL], { stdio: 'ignore', detached: true })
  browser.once('error', () => undefined)
  browser.unref()
}

await main()
