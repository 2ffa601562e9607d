// `bin/node examples/sign-in.ts`: what an app does, from the first start to the chart and out
// again, against a service and an OpenID Connect provider that it starts itself. Each step says
// what is asked and what comes back; docs/mobile.md explains them.

import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  authorize,
  PUBLIC_CLIENT,
  REDIRECT_URI,
  startOpenIdProvider,
} from '../test/support/openid-provider.ts'
import type { SignInProvider } from '../test/support/openid-provider.ts'
import { backfill, WEEK } from './fleet.ts'

const PROGRAM = fileURLToPath(new URL('../src/thermolog.js', import.meta.url))
const PERSON = { email: 'ana@example.org', email_verified: true, name: 'Ana' }
const CHART_HEIGHT = 10

interface SignedIn {
  readonly token: string
  readonly expires_at: string
  readonly user: { readonly name: string }
}

interface Sensor {
  readonly id: number
  readonly alias: string
  readonly online: boolean
  readonly latest: { readonly temp: number } | null
}

interface Point {
  readonly timestamp: string
  readonly temp: number | null
  readonly min: number | null
  readonly max: number | null
}

interface Answer<Data> {
  readonly etag: string | null
  readonly data: Data
}

/** The app's own HTTP client: knows the address of the service and keeps the token. */
class Client {
  readonly #url: string
  token: string | undefined

  constructor(url: string) {
    this.#url = url
  }

  async call<Data>(
    method: 'GET' | 'POST',
    path: string,
    { body, knownTag }: { body?: unknown; knownTag?: string } = {},
  ): Promise<Answer<Data>> {
    const response = await fetch(`${this.#url}/api/mobile/v1${path}`, {
      method,
      headers: {
        ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        // Else fetch adds a header that keeps the answer from being 304.
        ...(knownTag !== undefined && { 'if-none-match': knownTag, 'cache-control': 'max-age=0' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const parsed = (text === '' ? {} : JSON.parse(text)) as { data: Data; code?: string }
    say(
      `${method} ${path} → ${response.status}${parsed.code === undefined ? '' : ` ${parsed.code}`}`,
    )
    return { etag: response.headers.get('etag'), data: parsed.data }
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function walk(client: Client, sendMeasurements: () => Promise<void>): Promise<void> {
  say('\n1. What the app has to know')
  const provider = await reachedProvider(client)
  say(`   sign in with ${provider.client_id} at ${provider.authorization_endpoint}`)

  say('\n2. The browser: the person signs in, the app is called back with a code')
  const grant = await authorize(provider, 'ana')
  say(`   ${grant.redirect_uri}?code=${grant.code.slice(0, 6)}…`)

  say('\n3. The code becomes a token; the same request again gets the same token')
  const { data } = await client.call<SignedIn>('POST', '/auth/home', { body: grant })
  const repeated = await client.call<SignedIn>('POST', '/auth/home', { body: grant })
  const isSame = data.token === repeated.data.token
  say(`   ${data.user.name} until ${data.expires_at}, the same: ${isSame}`)
  client.token = data.token

  say('\n4. Meanwhile a daemon has sent a week of measurements; the dashboard')
  await sendMeasurements()
  const dashboard = await client.call<{ sensors: readonly Sensor[] }>('GET', '/dashboard')
  const { sensors } = dashboard.data
  for (const { alias, online, latest } of sensors) {
    say(`   ${online ? '●' : '○'} ${alias}  ${latest?.temp ?? '–'} °C`)
  }
  await client.call('GET', '/dashboard', { knownTag: dashboard.etag ?? '' })

  say('\n5. The chart of the first one: a day in hours, mean (o) and band from min to max (│)')
  const id = sensors[0]?.id ?? 0
  const path = `/sensors/${id}/measurements?bucket=hour&fill=null`
  const history = await client.call<{ points: readonly Point[] }>('GET', path)
  say(drawChart(history.data.points))

  say('\n6. Out')
  await client.call('POST', '/logout')
  await client.call('GET', '/me')
}

/** The service looks for its providers in the background; a moment later it has found them. */
async function reachedProvider(client: Client): Promise<SignInProvider> {
  const { data } = await client.call<{ sign_in_providers: readonly SignInProvider[] }>(
    'GET',
    '/bootstrap',
  )
  const [provider] = data.sign_in_providers
  if (provider?.authorization_endpoint) return provider
  await new Promise((resolve) => setTimeout(resolve, 200))
  return reachedProvider(client)
}

/** A gap stays a gap: a bucket without measurements has null values. */
function drawChart(points: readonly Point[]): string {
  const values = points.flatMap(({ min, max }) => (min === null || max === null ? [] : [min, max]))
  const lowest = Math.min(...values)
  const step = (Math.max(...values) - lowest) / (CHART_HEIGHT - 1) || 1
  const rowOf = (temp: number) => Math.round((temp - lowest) / step)
  const lines = Array.from({ length: CHART_HEIGHT }, (_, fromTop) => {
    const row = CHART_HEIGHT - 1 - fromTop
    const cells = points.map(({ temp, min, max }) => {
      if (temp === null || min === null || max === null) return ' '
      if (rowOf(temp) === row) return 'o'
      return rowOf(min) <= row && row <= rowOf(max) ? '│' : ' '
    })
    return `   ${(lowest + row * step).toFixed(1).padStart(6)} ${cells.join(' ')}`
  })
  return lines.join('\n')
}

async function serve(
  environment: NodeJS.ProcessEnv,
): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [PROGRAM, 'serve'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface(child.stdout)) {
    const event = JSON.parse(line) as { message: string; url?: string }
    if (event.message !== 'ready' || event.url === undefined) continue
    // What comes later is not shown, but has to be read.
    child.stdout.resume()
    return { child, url: event.url }
  }
  throw new Error('the service did not start')
}

async function main(): Promise<void> {
  const idp = await startOpenIdProvider()
  idp.people.set('ana', PERSON)
  const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
  const environment = {
    ...process.env,
    DATA_DIR: dataDir,
    PORT: '0',
    IDP_HOME_ISSUER: idp.issuer,
    IDP_HOME_CLIENT_ID: PUBLIC_CLIENT,
    MOBILE_REDIRECT_URIS: REDIRECT_URI,
    ALLOW_SIGN_UP: 'true',
  }
  const { child, url } = await serve(environment)
  const sendMeasurements = async () => {
    const order = ['token', 'create', '--user', PERSON.email, '--name', 'gateway']
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, [PROGRAM, ...order], { env: environment })
    await backfill({ url, token: stdout.trim() }, WEEK, () => undefined)
  }
  try {
    await walk(new Client(url), sendMeasurements)
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
    await idp.stop()
    await rm(dataDir, { recursive: true })
  }
}

await main()
