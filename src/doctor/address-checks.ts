// The address of the service: whether it is free or the service answers there, what the service
// itself says, and the proxy before it.

import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Config } from '../config.ts'
import { urlOnNetwork } from '../config-values.ts'
import { grouped } from '../domain/grouped.ts'
import { ProviderFault, readBounded } from '../oidc/provider-exchange.ts'
import { listenFailure } from '../system/listen-failure.ts'
import { ANSWER_MS_MAX, Check, reasonOf } from './check.ts'
import type { CheckResult } from './check.ts'

/** Where `systemctl enable` puts it. */
const ENABLED_SOCKET = '/etc/systemd/system/sockets.target.wants/thermolog.socket'

const portCheck = new Check('port')
const serviceCheck = new Check('service')
const proxyCheck = new Check('proxy')

const NAME_PROXY = 'set TRUST_PROXY to its address: 127.0.0.1,::1 for one on this machine'

/** The members of `/readyz` that are looked at, ready or not. */
interface Readiness {
  readonly backlog: { readonly entries: number }
  readonly code?: string
  readonly detail?: string
  readonly measurement_store?: string
  readonly warnings?: readonly string[]
  readonly damaged?: { readonly problems: readonly string[]; readonly remedy: string }
}

/** @param isRunning whether a service has DATA_DIR; `undefined`: that cannot be told */
export async function checkAddress(
  config: Config,
  isRunning: boolean | undefined,
): Promise<readonly CheckResult[]> {
  const { host, port } = config
  const place = `PORT ${port} of ${host}`
  const isActivated = existsSync(ENABLED_SOCKET)
  if (port === 0 && !isActivated) return [portCheck.ok('PORT 0: the service picks a free one')]
  const failure = await listenOnce(host, port)
  if (failure === undefined) {
    if (isActivated) return [portCheck.ok('systemd holds the address: thermolog.socket')]
    if (isRunning !== true) return [portCheck.ok(`${place} is free`)]
    const remedy = 'restart the service: it was started with other settings'
    return [portCheck.wrong(`the service runs, and does not listen to ${place}`, remedy)]
  }
  const { message, hint } = listenFailure(failure, config) ?? {
    message: failure.message,
    hint: 'set HOST and PORT to an address of this machine',
  }
  if (failure.code !== 'EADDRINUSE') return [portCheck.wrong(message, hint)]
  const who = `as root, \`ss -ltnp sport = :${port}\` says which`
  const taken = portCheck.wrong(`${message}, by another program`, `${hint} (${who})`)
  if (isRunning === false && !isActivated) return [taken]
  const answer = await askReadiness(config)
  if (answer.state === 'other') return [taken]
  return [portCheck.ok(`${place} is the service's`), ...judgeService(answer)]
}

/** Tries to listen there. */
async function listenOnce(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  const server = createServer()
  try {
    server.listen({ host, port, exclusive: true })
    await once(server, 'listening')
    return undefined
  } catch (error) {
    return error as NodeJS.ErrnoException
  } finally {
    server.close()
  }
}

type Answer =
  | { readonly state: 'thermolog'; readonly readiness: Readiness }
  | { readonly state: 'silent'; readonly reason: string }
  /** Something else. */
  | { readonly state: 'other' }

async function askReadiness({ host, port }: Config): Promise<Answer> {
  const near = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  try {
    const url = `${urlOnNetwork(near, port)}/readyz`
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })
    const readiness = readinessOf(await readBounded(response))
    return readiness === undefined ? { state: 'other' } : { state: 'thermolog', readiness }
  } catch (error) {
    // Nothing of ours is so long.
    if (error instanceof ProviderFault) return { state: 'other' }
    return { state: 'silent', reason: reasonOf(error) }
  }
}

function readinessOf(text: string): Readiness | undefined {
  try {
    const value = JSON.parse(text) as Readiness | null
    return typeof value?.backlog === 'object' ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function judgeService(answer: Answer): readonly CheckResult[] {
  if (answer.state === 'other') return []
  if (answer.state === 'silent') {
    const remedy = 'see its log, then restart it'
    return [serviceCheck.wrong(`the service does not answer: ${answer.reason}`, remedy)]
  }
  const { backlog, code, detail = '', ...state } = answer.readiness
  const waiting = `${grouped(backlog.entries)} measurements wait for the measurement store`
  const results: CheckResult[] = []
  if (state.damaged !== undefined) {
    const { problems, remedy } = state.damaged
    results.push(...problems.map((problem) => serviceCheck.wrong(problem, remedy)))
  }
  if (code !== undefined) {
    const remedy = 'see its log, and Troubleshooting in docs/operations.md'
    results.push(serviceCheck.wrong(`the service refuses submissions: ${code}. ${detail}`, remedy))
  }
  if (state.measurement_store === 'failing') {
    const failing = `the measurement store takes nothing: ${waiting}`
    results.push(serviceCheck.wrong(failing, 'see the log of the service for the reason'))
  }
  results.push(...(state.warnings ?? []).map((warning) => proxyCheck.wrong(warning, NAME_PROXY)))
  if (results.some(({ check }) => check === 'service')) return results
  return [...results, serviceCheck.ok(`the service takes measurements; ${waiting}`)]
}

/** @param isAnswering whether the service itself answers here */
export async function checkProxy(
  { apiUrl, trustedProxies }: Config,
  isAnswering: boolean,
): Promise<readonly CheckResult[]> {
  const publicUrl = URL.parse(apiUrl)
  if (publicUrl === null) {
    return trustedProxies.length === 0 ? [] : [judgeTrust(trustedProxies)]
  }
  // The service itself does not speak TLS.
  if (publicUrl.protocol === 'https:' && trustedProxies.length === 0) {
    const where = `PUBLIC_URL is ${apiUrl}, so a proxy is there, and TRUST_PROXY does not name it`
    return [
      proxyCheck.wrong(
        `${where}: all sign-ins and failed tokens count for one address`,
        NAME_PROXY,
      ),
    ]
  }
  const trust = trustedProxies.length === 0 ? [] : [judgeTrust(trustedProxies)]
  return isAnswering ? [...trust, await askPublicly(apiUrl)] : trust
}

function judgeTrust(trustedProxies: readonly string[]): CheckResult {
  const named = `TRUST_PROXY names ${trustedProxies.join(', ')}`
  if (!trustedProxies.some((network) => network.endsWith('/0'))) return proxyCheck.ok(named)
  return proxyCheck.warning(
    `${named}: every caller can choose the address that it counts as`,
    'name the addresses of your proxies alone',
  )
}

/** Whether people reach the service where the settings say, as far as this machine can tell. */
async function askPublicly(apiUrl: string): Promise<CheckResult> {
  const url = `${apiUrl.replace(/\/$/, '')}/healthz`
  try {
    const { status, body } = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })
    await body?.cancel()
    if (status === 200) return proxyCheck.ok(`the service answers at ${apiUrl}`)
    const remedy = 'compare the configuration of the proxy with docs/operations.md, Behind a proxy'
    const answered = `${url} is answered with ${status}, while the service is well`
    return status >= 500 ? proxyCheck.wrong(answered, remedy) : proxyCheck.warning(answered, remedy)
  } catch (error) {
    const remedy = 'try it from where people are: names and routes may differ here'
    return proxyCheck.warning(`${apiUrl} cannot be reached from here: ${reasonOf(error)}`, remedy)
  }
}
