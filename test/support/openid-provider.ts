// A real OpenID Connect provider on a free port of this machine, and the browser and the app of a
// phone that sign in with it: authorization code, PKCE, a custom scheme. Whoever the app hints at
// is signed in at once.

import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { interactionPolicy, Provider } from 'oidc-provider'
import type { AdapterFactory, AdapterPayload, ClientMetadata, Configuration } from 'oidc-provider'

export const REDIRECT_URI = 'org.example.thermolog:/callback'
export const PUBLIC_CLIENT = 'thermolog-app'
export const CONFIDENTIAL_CLIENT = 'thermolog-server'
export const CLIENT_SECRET = 'a secret: of/the+operator%'

export interface Person {
  readonly email?: string
  readonly email_verified?: boolean | string
  readonly name?: string
}

export interface OpenIdProvider {
  readonly issuer: string
  /** Who can sign in, by subject. */
  readonly people: Map<string, Person>
  stop(): Promise<void>
}

/**
 * @param change of the provider's configuration
 * @param port 0: any free one
 */
export async function startOpenIdProvider(
  change: Configuration = {},
  port = 0,
): Promise<OpenIdProvider> {
  const people = new Map<string, Person>()
  const server = createServer()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, { ...configurationFor(people), ...change })
  const answer = provider.callback()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const isInteraction = request.url?.startsWith('/interaction/')
    if (isInteraction) void signInAsHinted({ provider, people }, request, response)
    else void answer(request, response)
  })
  return { issuer, people, stop: () => close(server) }
}

/** Without a hint it is the first of the people. */
async function signInAsHinted(
  { provider, people }: { provider: Provider; people: ReadonlyMap<string, Person> },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { params } = await provider.interactionDetails(request, response)
  const [first = ''] = people.keys()
  const hint = params['login_hint']
  const login = { accountId: typeof hint === 'string' ? hint : first }
  await provider.interactionFinished(request, response, { login })
}

/** An app, or a page, that has no secret. */
export function publicClient(...redirectUris: string[]): ClientMetadata {
  return {
    client_id: PUBLIC_CLIENT,
    application_type: 'native',
    redirect_uris: redirectUris,
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}

/** Of all providers: to make one takes as long as many tests. */
let key: KeyObject | undefined

function configurationFor(people: ReadonlyMap<string, Person>): Configuration {
  key ??= generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const jwk = { ...key.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'k1' }
  const policy = interactionPolicy.base()
  // Nobody is there to be asked.
  policy.remove('consent')
  const confidential = {
    ...publicClient(REDIRECT_URI),
    client_id: CONFIDENTIAL_CLIENT,
    client_secret: CLIENT_SECRET,
    token_endpoint_auth_method: 'client_secret_basic',
  } as const
  return {
    adapter: createMemory(),
    clients: [publicClient(REDIRECT_URI), confidential],
    jwks: { keys: [jwk] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    // The address is in the ID token, as most providers have it.
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { policy, url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, sub) => ({
      accountId: sub,
      claims: () => Promise.resolve({ sub, ...people.get(sub) }),
    }),
    loadExistingGrant: async ({ oidc }) => {
      const { client: asking, session, provider } = oidc
      const grant = new provider.Grant({
        clientId: asking?.clientId ?? '',
        accountId: session?.accountId ?? '',
      })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
    ttl: {
      AccessToken: 60,
      AuthorizationCode: 60,
      Grant: 60,
      IdToken: 60,
      Interaction: 60,
      Session: 60,
    },
  }
}

/** What a provider keeps, for as long as it runs. */
function createMemory(): AdapterFactory {
  const kept = new Map<string, AdapterPayload>()
  const find = (isIt: (payload: AdapterPayload) => boolean) => kept.values().find(isIt)
  return (model) => {
    const keyOf = (id: string) => `${model} ${id}`
    return {
      upsert: async (id, payload) => void kept.set(keyOf(id), payload),
      find: async (id) => kept.get(keyOf(id)),
      findByUid: async (uid) => find((payload) => payload.uid === uid),
      findByUserCode: async (code) => find((payload) => payload.userCode === code),
      consume: async (id) => {
        const payload = kept.get(keyOf(id))
        if (payload !== undefined) payload['consumed'] = Math.floor(Date.now() / 1_000)
      },
      destroy: async (id) => void kept.delete(keyOf(id)),
      revokeByGrantId: async (grantId) => {
        for (const [name, payload] of kept) if (payload.grantId === grantId) kept.delete(name)
      },
    }
  }
}

/** Pictures of what a phone is told by GET /bootstrap. */
export interface SignInProvider {
  readonly client_id: string
  readonly authorization_endpoint: string
  readonly redirect_uri: string
  readonly scopes: readonly string[]
}

export interface Grant {
  readonly code: string
  readonly code_verifier: string
  readonly redirect_uri: string
}

/** What the app and the browser do: from a new verifier to the code in the custom scheme. */
export async function authorize(provider: SignInProvider, subject: string): Promise<Grant> {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const address = new URL(provider.authorization_endpoint)
  address.search = new URLSearchParams({
    client_id: provider.client_id,
    redirect_uri: provider.redirect_uri,
    response_type: 'code',
    scope: provider.scopes.join(' '),
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    login_hint: subject,
  }).toString()
  const back = await browse(address.href, provider.redirect_uri)
  if (back.searchParams.get('state') !== state) throw new Error(`not called back: ${back.href}`)
  const code = back.searchParams.get('code') ?? ''
  return { code, code_verifier: verifier, redirect_uri: provider.redirect_uri }
}

/** Follows redirects with cookies until one leads to the app. */
async function browse(from: string, redirectUri: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let address = from
  for (let step = 0; step < 10; step++) {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(address, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`the provider says ${await response.text()}`)
    address = new URL(location, address).href
    if (address.startsWith(redirectUri)) return new URL(address)
  }
  throw new Error('the provider redirects for ever')
}

async function close(server: Server): Promise<void> {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}
