// Goal: the samples beside each operation do what they say, as they stand in the document. Those in
// Kotlin and Swift are not run: few machines have their compilers.

import { expect } from 'chai'
import { execFile, spawn } from 'node:child_process'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Sample } from '../../src/openapi/samples.ts'
import { isOnPath } from '../support/checkout.ts'
import { send } from '../support/http.ts'
import { leaveOut } from '../support/left-out.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const USER = 'ada@example.org'
const LANGUAGES = ['Shell', 'Python', 'TypeScript', 'Kotlin', 'Swift']
/** What a sample cannot do with examples for its code or account, and the status it gets. */
const REFUSED: Readonly<Record<string, number>> = {
  signIn: 404,
  signInWithLink: 400,
  deleteAccount: 403,
}
/** What later samples still need goes last. */
const LAST = ['rotateDaemonToken', 'endDaemonToken', 'deleteSensor', 'endSession', 'logOut']
const ENDLESS = 'streamEvents'

interface Operation {
  readonly path: string
  readonly operationId: string
  readonly 'x-codeSamples'?: readonly Sample[]
}

/** A sample as it is run: whose token it has. */
type Run = readonly [source: string, token: string]

/** For each sample `[status, what it printed]`; 200 stands for any success. */
type Outcomes = (readonly [status: number, said: string])[]

const PYTHON = `
import contextlib, io, json, os, sys, urllib.error
def outcome(source, token):
    os.environ["THERMOLOG_TOKEN"] = token
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            exec(source, {})
        return 200, said.getvalue()
    except urllib.error.HTTPError as error:
        return error.code, said.getvalue()
print(json.dumps([outcome(*run) for run in json.load(sys.stdin)]))`

const NODE = `
import { json } from 'node:stream/consumers'
const outcomes = []
let said = ''
console.log = (value) => { said += JSON.stringify(value) }
for (const [source, token] of await json(process.stdin)) {
  process.env.THERMOLOG_TOKEN = token
  said = ''
  try {
    await import('data:text/javascript,' + encodeURIComponent(source + '//' + outcomes.length))
    outcomes.push([200, said])
  } catch (error) {
    outcomes.push([JSON.parse(error.message).status, said])
  }
}
process.stdout.write(JSON.stringify(outcomes))`

const RUNNERS: Readonly<Record<string, (url: string, runs: readonly Run[]) => Promise<Outcomes>>> =
  {
    Shell: async (url, runs) => {
      const outcomes: Outcomes = []
      for (const [source, token] of runs) {
        const env = { ...process.env, THERMOLOG_URL: url, THERMOLOG_TOKEN: token }
        const silent = source.replace('curl ', 'curl --silent --write-out "%{http_code}" ')
        const { stdout } = await promisify(execFile)('sh', ['-c', `${silent} || true`], { env })
        const status = Number(stdout.slice(-3))
        outcomes.push([status < 300 ? 200 : status, stdout])
      }
      return outcomes
    },
    Python: (url, runs) => inOneProcess(['python3', '-c', PYTHON], url, runs),
    TypeScript: (url, runs) =>
      inOneProcess([process.execPath, '--input-type=module', '-e', NODE], url, runs),
  }

async function inOneProcess(
  [command = '', ...args]: readonly string[],
  url: string,
  runs: readonly Run[],
): Promise<Outcomes> {
  const env = { ...process.env, THERMOLOG_URL: url }
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(runs))
  return (await json(child.stdout)) as Outcomes
}

/** A session of the user, by a link. */
async function signIn({ url, operations }: TestService): Promise<string> {
  const link = await operations.run('user link', { user: USER })
  const body = { code: link.url.replace(/^.*\//, ''), code_verifier: 'v'.repeat(43) }
  const path = '/api/mobile/v1/auth/link'
  return String((await send(url, { method: 'POST', path, body })).body.data.token)
}

/** A service with what the samples speak of: sensors 7 and 9, session 12, token 13. */
async function startSampled() {
  const service = await startService({ MIN_TIMESTAMP: '2020-01-01T00:00:00Z' })
  service.clock.set('2026-11-20T10:16:00Z')
  const daemon = await service.createToken(USER)
  const path = '/api/v1/measurements/batch'
  const measurements = Array.from({ length: 9 }, (_, at) => ({ sn: `S${at}`, temp: 20 }))
  await send(service.url, { method: 'POST', path, token: daemon, body: { measurements } })
  const mobile = await signIn(service)
  while ((await service.operations.run('token list', { user: USER })).length < 12)
    await signIn(service)
  await send(service.url, {
    method: 'POST',
    path: '/api/mobile/v1/tokens',
    token: mobile,
    body: { name: 'gateway-1' },
  })
  return { service, daemon, mobile }
}

async function readOperations(url: string): Promise<readonly Operation[]> {
  const { body } = await send(url, { path: '/openapi.json' })
  const paths = Object.entries(body.paths as Record<string, Record<string, object>>)
  const all = paths.flatMap(([path, operations]) =>
    Object.values(operations).map((operation) => ({ path, ...operation }) as Operation),
  )
  const ofApis = all.filter(({ path }) => /^\/api\/(mobile\/)?v1\//.test(path))
  return ofApis.toSorted(
    (one, other) => LAST.indexOf(one.operationId) - LAST.indexOf(other.operationId),
  )
}

/** What a language needs that may be missing. */
const PROGRAMS: Readonly<Record<string, 'curl' | 'python3'>> = { Shell: 'curl', Python: 'python3' }

describe('the samples of the API', () => {
  for (const [language, runSamples] of Object.entries(RUNNERS)) {
    it(`do what they say in ${language}`, async function () {
      const program = PROGRAMS[language]
      if (program !== undefined && !isOnPath(program)) leaveOut(this, program)
      const { service, daemon, mobile } = await startSampled()
      const operations = await readOperations(service.url)
      const sampled = operations.filter(({ operationId }) => operationId !== ENDLESS)
      const runs = sampled.map(({ path, 'x-codeSamples': samples }): Run => {
        const source = samples?.find(({ lang }) => lang === language)?.source ?? ''
        return [source, path.startsWith('/api/mobile/') ? mobile : daemon]
      })
      const outcomes = await runSamples(service.url, runs)
      for (const [at, { operationId }] of sampled.entries()) {
        const [status, said] = outcomes[at] ?? []
        expect(status, `${operationId} ${said}`).to.equal(REFUSED[operationId] ?? 200)
        if (status === 200) expect(said, operationId).to.match(/\S/)
      }
      await service.stop()
    })
  }

  it('are beside every operation of the APIs', async () => {
    const service = await startService()
    for (const { operationId, 'x-codeSamples': samples } of await readOperations(service.url)) {
      expect(
        samples?.map(({ lang }) => lang),
        operationId,
      ).to.deep.equal(LANGUAGES)
    }
    await service.stop()
  })
})
