// The service with a provider that can forge anything, and the requests of a phone.

import { expect } from 'chai'
import type { Environment } from '../../src/config-settings.ts'
import { ForgingProvider } from './forging-provider.ts'
import type { Forgery } from './forging-provider.ts'
import { send } from './http.ts'
import type { TestAnswer } from './http.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

export const BASE = '/api/mobile/v1'
export const REDIRECT_URI = 'org.example.thermolog:/callback'
/** The address that the second provider, which is never reached, calls back. */
export const RELAY = 'https://thermolog.example.org/auth/callback/apple'
export const GRANT = { code: 'c', code_verifier: 'v'.repeat(43), redirect_uri: REDIRECT_URI }

export interface MobileTest {
  readonly service: TestService
  readonly forger: ForgingProvider
  /** Presents what is to be a grant. */
  post(body: unknown, headers?: Record<string, string>, idp?: string): Promise<TestAnswer>
  /** Signs in with a code that was never used before. */
  signIn(forgery?: Forgery): Promise<TestAnswer>
  tokenOf(forgery?: Forgery): Promise<string>
  get(path: string, token: string, headers?: Record<string, string>): Promise<TestAnswer>
  /** Sends one measurement or a batch, as a daemon of the user. */
  submit(
    user: string,
    body: { sn: string; temp: number } | { measurements: object[] },
  ): Promise<TestAnswer>
  stop(): Promise<void>
}

export async function startMobile(settings: Environment = {}): Promise<MobileTest> {
  const forger: ForgingProvider = new ForgingProvider(() => service.clock.nowMs())
  await forger.start()
  const service = await startService({
    IDP_FORGER_ISSUER: forger.issuer,
    IDP_FORGER_CLIENT_ID: 'thermolog-app',
    IDP_APPLE_ISSUER: `${forger.issuer}/apple`,
    IDP_APPLE_CLIENT_ID: 'service-id',
    IDP_APPLE_CALLBACK_URL: RELAY,
    MOBILE_REDIRECT_URIS: `${REDIRECT_URI}, org.example.beta:/callback`,
    ...settings,
  })
  let codes = 0
  const post: MobileTest['post'] = (body, headers = {}, idp = 'forger') =>
    send(service.url, { method: 'POST', path: `${BASE}/auth/${idp}`, body, headers })
  const signIn: MobileTest['signIn'] = (forgery = {}) => {
    forger.forgery = forgery
    return post({ ...GRANT, code: `code-${++codes}` })
  }
  return {
    service,
    forger,
    post,
    signIn,
    tokenOf: async (forgery) => {
      const { body, text } = await signIn(forgery)
      expect(body.data?.token, text).to.be.a('string')
      return body.data.token
    },
    get: (path, token, headers = {}) => send(service.url, { path: BASE + path, token, headers }),
    submit: async (user, body) => {
      const token = await service.createToken(user)
      const path = `/api/v1/measurements${'measurements' in body ? '/batch' : ''}`
      return send(service.url, { method: 'POST', path, token, body })
    },
    stop: async () => {
      await service.stop()
      await forger.stop()
    },
  }
}

/** Status and code of a problem, as one text. */
export function codeOf({ status, body }: TestAnswer): string {
  return `${status} ${body?.code}`
}
