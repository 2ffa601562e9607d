// An identity provider of our own that can do everything wrong: forge ID tokens, leave them out,
// answer nonsense, late or never.

import { generateKeyPairSync, randomUUID } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SignJWT, UnsecuredJWT } from 'jose'
import type { JWTPayload } from 'jose'

const CLIENT_ID = 'thermolog-app'

/** What the provider does otherwise than it should. */
export interface Forgery {
  readonly claims?: JWTPayload
  /** Claims that are left out. */
  readonly without?: readonly string[]
  readonly algorithm?: 'none' | 'HS256'
  /** Signs with a key that is not published. */
  readonly isSignedByOther?: boolean
  /** The name of the key that it signs with. */
  readonly keyId?: string
  /** The name under which it publishes its key. */
  readonly publishedKeyId?: string
  readonly hasNoIdToken?: boolean
  /** Of the token endpoint, instead of all the above. */
  readonly answer?: { readonly status: number; readonly body: string }
  /** What an endpoint does instead of answering. */
  readonly broken?: Readonly<Record<string, 'hangs' | 'fails' | 'redirects' | 'floods'>>
  readonly discovery?: Readonly<Record<string, unknown>>
  readonly userinfo?: Readonly<Record<string, unknown>>
}

export class ForgingProvider {
  forgery: Forgery = {}
  /** Forms that the token endpoint was given, with the Authorization header. */
  readonly received: { form: URLSearchParams; authorization: string | undefined }[] = []
  /** The paths of all requests. */
  readonly asked: string[] = []
  readonly #nowMs: () => number
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  readonly #otherKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  readonly #server = createServer((request, response) => void this.#respond(request, response))

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async start(port = 0): Promise<void> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    const broken = this.forgery.broken?.[path]
    if (broken === 'hangs') return
    if (broken === 'redirects') {
      response.writeHead(302, { location: `${this.issuer}/elsewhere` }).end()
    } else if (broken === 'fails') {
      response.writeHead(500).end('<h1>Oops</h1>')
    } else if (broken === 'floods') {
      response.writeHead(200).end(Buffer.alloc(2 ** 20, 32))
    } else {
      const { status, body } = await this.#answer(path, request)
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    }
  }

  async #answer(path: string, request: IncomingMessage) {
    const json = (value: object) => ({ status: 200, body: JSON.stringify(value) })
    const { issuer, forgery } = this
    this.asked.push(path)
    if (path === '/.well-known/openid-configuration') {
      return json({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        userinfo_endpoint: `${issuer}/userinfo`,
        ...forgery.discovery,
      })
    }
    if (path === '/keys')
      return json({ keys: [publicJwk(this.#keys.publicKey, forgery.publishedKeyId)] })
    if (path === '/userinfo') return json({ ...forgery.userinfo })
    if (path !== '/token') return { status: 404, body: '{}' }
    const { authorization } = request.headers
    this.received.push({ form: new URLSearchParams(await text(request)), authorization })
    if (forgery.answer !== undefined) return forgery.answer
    const idToken = forgery.hasNoIdToken === true ? undefined : await this.#idToken()
    return json({ access_token: randomUUID(), token_type: 'Bearer', id_token: idToken })
  }

  #idToken(): string | Promise<string> {
    const { claims, without = [], algorithm, isSignedByOther = false, keyId = 'k1' } = this.forgery
    const nowSeconds = Math.floor(this.#nowMs() / 1000)
    const all: JWTPayload = {
      iss: this.issuer,
      aud: CLIENT_ID,
      sub: 'ana',
      iat: nowSeconds,
      exp: nowSeconds + 300,
      email: 'ana@example.org',
      email_verified: true,
      ...claims,
    }
    const said = Object.fromEntries(Object.entries(all).filter(([name]) => !without.includes(name)))
    if (algorithm === 'none') return new UnsecuredJWT(said).encode()
    if (algorithm === 'HS256') {
      // The well-known confusion: the public key taken for a shared secret.
      const secret = this.#keys.publicKey.export({ type: 'spki', format: 'der' })
      return new SignJWT(said).setProtectedHeader({ alg: 'HS256', kid: 'k1' }).sign(secret)
    }
    const { privateKey } = isSignedByOther ? this.#otherKeys : this.#keys
    return new SignJWT(said).setProtectedHeader({ alg: 'ES256', kid: keyId }).sign(privateKey)
  }
}

function publicJwk(key: KeyObject, kid = 'k1'): object {
  return { ...key.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }
}
