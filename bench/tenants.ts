// A thousand tenants beside one, and batches that were sent before beside new ones.

import { connectServiceOf } from '../src/socket/client.ts'
import { BATCH, CONNECTIONS, expectAll } from './batch-load.ts'
import { StampedRequest } from './bodies.ts'
import { runLoad } from './load.ts'
import { median, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'
import type { MeasuredService } from './service.ts'

const TENANTS = 1_000
const TENANT_CONNECTIONS = 64
const ROUNDS = 3
const REPEATED_BATCHES = 1_000

type NextRequest = (connection: number) => Buffer | undefined

export async function measureTenants(seconds: number): Promise<Figure[]> {
  const service = await startMeasured()
  const turnSeconds = Math.max(1, Math.round(seconds / (ROUNDS * 2)))
  say(`making ${TENANTS} users with a token each`)
  const tokens = await createTenants(service)
  const figures = [
    await compare(service, turnSeconds, { size: 0, tokens }),
    await compare(service, turnSeconds, { size: BATCH, tokens }),
    ...(await compareRepeats(service, turnSeconds)),
  ]
  await service.stop()
  await service.remove()
  return figures
}

async function compare(
  service: MeasuredService,
  seconds: number,
  { size, tokens }: { readonly size: number; readonly tokens: readonly string[] },
): Promise<Figure> {
  const what = size === 0 ? 'single POST' : `batches of ${size}`
  const one = requestsOf(
    Array.from({ length: TENANT_CONNECTIONS }, () => service.token),
    size,
  )
  const many = requestsOf(tokens, size)
  const rates = await inTurns(service, { seconds, connections: TENANT_CONNECTIONS, what }, [
    many,
    one,
  ])
  const name = `${what}, ${TENANTS} tokens, ${TENANTS * 10} sensors; one token`
  return figure(name, rates, size || 1)
}

/** The requests of tenants in turn; no two connections ever have the same one. */
function requestsOf(tokens: readonly string[], size: number): NextRequest {
  const startMs = Date.now() - 86_400_000
  const requests = tokens.map(
    (token, connection) => new StampedRequest({ connection, size, token, startMs }),
  )
  const turns = Array.from({ length: TENANT_CONNECTIONS }, () => 0)
  return (connection) => {
    const turn = turns[connection] ?? 0
    const next = connection + turn * TENANT_CONNECTIONS
    turns[connection] = next + TENANT_CONNECTIONS < requests.length ? turn + 1 : 0
    return requests[next]?.stamp()
  }
}

async function compareRepeats(service: MeasuredService, seconds: number): Promise<Figure[]> {
  const { port, token } = service
  const startMs = Date.now() - 60 * 86_400_000
  const requests = Array.from(
    { length: CONNECTIONS },
    (_, connection) => new StampedRequest({ connection, size: BATCH, token, startMs }),
  )
  const stamped: NextRequest = (connection) => requests[connection]?.stamp()
  const sent: Buffer[] = []
  const first = await runLoad({
    port,
    connections: CONNECTIONS,
    seconds: Infinity,
    nextRequest: (connection) => {
      if (sent.length === REPEATED_BATCHES) return undefined
      const request = stamped(connection)
      if (request === undefined) return undefined
      sent.push(Buffer.from(request))
      return sent.at(-1)
    },
  })
  expectAll(first.statuses, 201)
  let next = 0
  const repeated: NextRequest = () => sent[next++ % sent.length]
  const lately: NextRequest = (connection) => requests[connection]?.bytes
  const what = 'repeated batches'
  const [old, again, fresh] = await inTurns(service, { seconds, connections: CONNECTIONS, what }, [
    repeated,
    lately,
    stamped,
  ])
  return [
    figure(`batches of ${BATCH} just sent, again; new ones`, [again, fresh], BATCH),
    figure(`batches of ${BATCH} sent half a million events ago; new ones`, [old, fresh], BATCH),
  ]
}

/** Median requests a second of each kind of request, which take turns on the same service. */
async function inTurns(
  { port }: MeasuredService,
  load: { readonly seconds: number; readonly connections: number; readonly what: string },
  kinds: readonly NextRequest[],
): Promise<readonly number[]> {
  const rates = kinds.map((): number[] => [])
  for (let round = 1; round <= ROUNDS; round++) {
    say(`${load.what}, round ${round} of ${ROUNDS}`)
    for (const [at, nextRequest] of kinds.entries()) {
      const { seconds, connections } = load
      const result = await runLoad({ port, connections, seconds, nextRequest })
      const unexpected = [...result.statuses.keys()].filter((status) => status > 201)
      if (unexpected.length > 0) throw new Error(`answers with status ${unexpected.join(', ')}`)
      rates[at]?.push(result.requestsPerSecond)
    }
  }
  return rates.map((ofKind) => median(ofKind))
}

function figure(
  name: string,
  [ours = NaN, beside = NaN]: readonly (number | undefined)[],
  size: number,
): Figure {
  return {
    name,
    ours: perSecond(ours * size),
    yardstick: perSecond(beside * size),
    ratio: (ours / beside).toFixed(2),
  }
}

async function createTenants(service: MeasuredService): Promise<string[]> {
  const tokens: string[] = []
  for (let tenant = 0; tenant < TENANTS; tenant++) {
    tokens.push(await createTenant(service, `tenant-${tenant}@example.org`))
  }
  return tokens
}

/** A user more. @returns a token of theirs */
export async function createTenant(service: MeasuredService, email: string): Promise<string> {
  const client = await connectServiceOf(service.dataDir)
  if (client === undefined) throw new Error('the service has no socket')
  await client.operations.run('user create', { email })
  const { token } = await client.operations.run('token create', { user: email, name: 'bench' })
  await client.close()
  return token
}
