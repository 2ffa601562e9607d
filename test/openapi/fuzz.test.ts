// Goal: no request that anybody can think of gets an answer that the description of the API does
// not have. Method: Schemathesis questions a service as it runs, with a real identity provider,
// with tokens of both kinds and sensors that exist. EXAMPLES=300 makes it ask more, each run other
// things; without it the questions are the same in every run.

import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProcess, serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { send } from '../support/http.ts'
import { authorize, PUBLIC_CLIENT, startOpenIdProvider } from '../support/openid-provider.ts'
import { REDIRECT_URI } from '../support/openid-provider.ts'
import type { OpenIdProvider } from '../support/openid-provider.ts'
import { needSchemathesis, question } from '../support/schemathesis.ts'
import { until } from '../support/until.ts'

const OWNER = 'ana@example.org'
const MOBILE_BASE = '/api/mobile/v1'
const SENSORS = 500
const STARTING_MS_MAX = 30_000
const { EXAMPLES } = process.env
const ASKING_MS_MAX = (EXAMPLES === undefined ? 3 : 30) * 60_000

describe('the API, questioned by Schemathesis', function () {
  this.timeout(ASKING_MS_MAX)
  let idp: OpenIdProvider
  let dataDir: string
  let service: RunningService | undefined

  before(async function () {
    needSchemathesis(this)
    this.timeout(STARTING_MS_MAX)
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    idp = await startOpenIdProvider()
    idp.people.set('ana', { email: OWNER, email_verified: true, name: 'Ana' })
    idp.people.set('eve', { email: 'eve@example.org', email_verified: true, name: 'Eve' })
    service = await serve(dataDir, {
      IDP_HOME_ISSUER: idp.issuer,
      IDP_HOME_CLIENT_ID: PUBLIC_CLIENT,
      MOBILE_REDIRECT_URIS: REDIRECT_URI,
      ALLOW_SIGN_UP: 'true',
      ALLOW_ACCOUNT_DELETION: 'true',
      MOBILE_TOKENS: 'true',
      APP_LINKS_ANDROID: `org.example.thermolog/${'AB:'.repeat(31)}AB`,
      APP_LINKS_APPLE: 'ABCDE12345.org.example.thermolog',
      RATE_LIMIT_REQUESTS: '0',
      RATE_LIMIT_MEASUREMENTS: '0',
      RATE_LIMIT_SIGN_IN: '0',
    })
  })

  after(async () => {
    if (service === undefined) return
    await service.stop()
    await idp.stop()
    await rm(dataDir, { recursive: true })
  })

  it('answers as its description says', async () => {
    const url = service?.url ?? ''
    const examples = EXAMPLES === undefined ? ['--generation-deterministic'] : ['-n', EXAMPLES]
    const mobileToken = await signIn(url, 'ana')
    // As the settings of Schemathesis have them.
    for (const id of [2, 3]) expect(await makeToken(url, mobileToken)).to.equal(id)
    const environment = {
      MOBILE_TOKEN: mobileToken,
      TOKEN_TO_REVOKE: await signIn(url, 'ana'),
      TOKEN_TO_DELETE: await signIn(url, 'eve'),
      SESSION_TO_END: await sessionOf(url, await signIn(url, 'ana')),
      DAEMON_TOKEN: await createToken(),
      PAGE_VERSION: await pageVersion(url),
    }
    await registerSensors(url, environment.DAEMON_TOKEN)
    const { exitCode, output } = await question(url, environment, examples)
    // What failed first, where the end of a run repeats the first lines.
    const [told = '', failed] = output.split(/=+ FAILURES =+\n/)
    expect(exitCode, failed === undefined ? told : failed + told).to.equal(0)
    expect(output, 'not all routes').to.match(/Selected: (\d+)\/\1\s+Tested: \1\n/)
  })

  async function createToken(): Promise<string> {
    const args = ['token', 'create', '--user', OWNER, '--name', 'gateway']
    return (await runProcess(dataDir, args)).stdout.trim()
  }
})

async function signIn(url: string, person: string): Promise<string> {
  const bootstrap = { path: `${MOBILE_BASE}/bootstrap` }
  const findProvider = async () => (await send(url, bootstrap)).body.data.sign_in_providers[0]
  await until('the provider is found', async () => {
    return (await findProvider()).authorization_endpoint !== null
  })
  const provider = await findProvider()
  const body = await authorize(provider, person)
  const path = `${MOBILE_BASE}/auth/${provider.id}`
  return (await send(url, { method: 'POST', path, body })).body.data.token
}

/** @returns the id of a daemon token that its owner has made */
async function makeToken(url: string, token: string): Promise<number> {
  const order = { method: 'POST', path: `${MOBILE_BASE}/tokens`, token, body: { name: 'own' } }
  return (await send(url, order)).body.data.id
}

async function sessionOf(url: string, token: string): Promise<string> {
  const { body } = await send(url, { path: `${MOBILE_BASE}/sessions`, token })
  const sessions = body.data as { readonly id: number; readonly current: boolean }[]
  return String(sessions.find(({ current }) => current)?.id)
}

/** The first of them are asked about, others are deleted. */
async function registerSensors(url: string, token: string): Promise<void> {
  const measurements = Array.from({ length: SENSORS }, (_, at) => ({ sn: `S${at}`, temp: at / 10 }))
  const path = '/api/v1/measurements/batch'
  const { status } = await send(url, { method: 'POST', path, token, body: { measurements } })
  expect(status).to.equal(201)
}

async function pageVersion(url: string): Promise<string> {
  const { text } = await send(url, { path: '/' })
  return /"web\/(\w+)\//.exec(text)?.[1] ?? ''
}
