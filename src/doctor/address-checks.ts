// The service's address: whether it is free or the service answers there, what the service itself
// reports, and the proxy before it.

import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import type { Config } from '../config.ts'
import type { Environment } from '../config-settings.ts'
import { grouped } from '../domain/grouped.ts'
import { listenFailure } from '../system/listen-failure.ts'
import { ANSWER_MS_MAX, Check, reasonOf } from './check.ts'
import type { CheckResult } from './check.ts'

const READINESS_BYTES_MAX = 256 * 1024
/** `fetch` reports this for a port that browsers refuse too. */
const REFUSED_PORT = 'bad port'

const portCheck = new Check('port')
const serviceCheck = new Check('service')
const proxyCheck = new Check('proxy')

const NAME_PROXY = 'set TRUST_PROXY to its address: 127.0.0.1,::1 for one on this machine'
/** Anybody nearby can send such a header. */
const IF_PROXY = `if it is one of yours, ${NAME_PROXY}`

/** The members of `/readyz` that are checked, ready or not. */
interface Readiness {
  readonly backlog: { readonly entries: number }
  readonly code?: string
  readonly detail?: string
  readonly measurement_store?: string
  readonly warnings?: readonly string[]
  readonly damaged?: { readonly problems: readonly string[]; readonly remedy: string }
}

interface Address {
  readonly host: string
  readonly port: number
}

/**
 * @param unit the environment from the service's units
 * @param isRunning whether a service uses DATA_DIR; `undefined`: unknown
 */
export async function checkAddress(
  { host, port }: Address,
  unit: Environment | undefined,
  isRunning: boolean | undefined,
): Promise<readonly CheckResult[]> {
  const stream = unit?.['ListenStream']
  if (stream !== undefined) return checkActivated(stream, isRunning)
  if (port === 0) return [portCheck.ok('PORT 0: the service picks a free one')]
  const address = { host, port }
  // Do not take the address from a running service, not even briefly.
  if (isRunning === true) return checkServed(address)
  const failure = await listenOnce(address)
  if (failure === undefined) return [portCheck.ok(`PORT ${port} of ${host} is free`)]
  const mayBeServed = failure.code === 'EADDRINUSE' || failure.code === 'EACCES'
  if (isRunning === undefined && mayBeServed) return checkServed(address)
  const { message, hint } = listenFailure(failure, address) ?? {
    message: failure.message,
    hint: 'set HOST and PORT to an address of this machine',
  }
  return [failure.code === 'EADDRINUSE' ? taken(address) : portCheck.wrong(message, hint)]
}

/** Connecting would start the service. */
async function checkActivated(
  stream: string,
  isRunning: boolean | undefined,
): Promise<readonly CheckResult[]> {
  const held = portCheck.ok(`systemd holds the address: thermolog.socket, ${stream}`)
  const [, host = '127.0.0.1', port] = /^(?:\[?([^\]]*)\]?:)?(\d+)$/.exec(stream) ?? []
  if (isRunning === false || port === undefined) return [held]
  return [held, ...(await checkServed({ host, port: Number(port) })).slice(1)]
}

async function checkServed(address: Address): Promise<readonly CheckResult[]> {
  const answer = await askReadiness(address)
  const place = `PORT ${address.port} of ${address.host}`
  if (answer.state === 'other') return [taken(address)]
  if (answer.state === 'silent' && answer.reason.includes('ECONNREFUSED')) {
    const remedy = 'restart the service: it was started with other settings'
    return [portCheck.wrong(`the service runs, but does not listen to ${place}`, remedy)]
  }
  return [portCheck.ok(`${place} is the service's`), ...judgeService(answer)]
}

function taken({ host, port }: Address): CheckResult {
  return portCheck.wrong(
    `PORT ${port} of ${host} is in use by another program`,
    `set PORT to a free one, or stop that program: \`ss -ltnp sport = :${port}\` says which it is`,
  )
}

/** Tries to listen at the address. */
async function listenOnce(address: Address): Promise<NodeJS.ErrnoException | undefined> {
  const server = createServer()
  try {
    server.listen({ ...address, exclusive: true })
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

async function askReadiness({ host, port }: Address): Promise<Answer> {
  const near = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  try {
    // Not `fetch`, which refuses some ports.
    const asked = request({ host: near, port, path: '/readyz', agent: false })
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    signal.addEventListener('abort', () => asked.destroy(signal.reason as Error))
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    const readiness = readinessOf(await textOf(response))
    return readiness === undefined ? { state: 'other' } : { state: 'thermolog', readiness }
  } catch (error) {
    return { state: 'silent', reason: reasonOf(error) }
  }
}

/** None of our responses is longer. */
async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  response.setEncoding('latin1')
  for await (const chunk of response as AsyncIterable<string>) {
    text += chunk
    if (text.length > READINESS_BYTES_MAX) return ''
  }
  return text
}

function readinessOf(text: string): Readiness | undefined {
  try {
    const value = JSON.parse(text) as Readiness | null
    return typeof value?.backlog?.entries === 'number' ? value : undefined
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
  results.push(...(state.warnings ?? []).map((warning) => proxyCheck.warning(warning, IF_PROXY)))
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

/** Whether people can reach the service at its public URL, as far as this machine can tell. */
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
    const reason = reasonOf(error)
    if (reason === REFUSED_PORT) {
      const refused = `${apiUrl} cannot be opened in browsers, which refuse its port`
      return proxyCheck.warning(refused, 'serve it at another port, such as 443 or 8443')
    }
    const remedy = 'try it from where people are: names and routes may differ here'
    return proxyCheck.warning(`${apiUrl} cannot be reached from here: ${reason}`, remedy)
  }
}
