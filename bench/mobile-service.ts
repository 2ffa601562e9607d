// The service under measurement with its owner signed in, through an identity provider of our own.

import { randomUUID } from 'node:crypto'
import { ForgingProvider } from '../test/support/forging-provider.ts'
import { OWNER, startMeasured } from './service.ts'
import type { MeasuredService } from './service.ts'

const REDIRECT_URI = 'org.example.thermolog:/callback'

export interface MobileService extends MeasuredService {
  readonly mobileToken: string
  /** @returns the token of another session */
  signIn(): Promise<string>
}

export async function startMobileMeasured(): Promise<MobileService> {
  const provider = new ForgingProvider(Date.now)
  provider.forgery = { claims: { email: OWNER } }
  await provider.start()
  const service = await startMeasured({
    IDP_BENCH_ISSUER: provider.issuer,
    IDP_BENCH_CLIENT_ID: 'thermolog-app',
    MOBILE_REDIRECT_URIS: REDIRECT_URI,
    RATE_LIMIT_SIGN_IN: '0',
  })
  const signIn = () => signInAt(service.port)
  return {
    ...service,
    mobileToken: await signIn(),
    signIn,
    stop: async () => {
      await service.stop()
      await provider.stop()
    },
  }
}

async function signInAt(port: number): Promise<string> {
  const grant = { code: randomUUID(), code_verifier: 'v'.repeat(43), redirect_uri: REDIRECT_URI }
  const response = await fetch(`http://127.0.0.1:${port}/api/mobile/v1/auth/bench`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(grant),
  })
  if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`)
  const { data } = (await response.json()) as { data: { token: string } }
  return data.token
}
