// What every adapter of leases, sign-in codes and rate counters promises, told of two processes
// that share them.

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { MINUTE_MS } from '../../src/domain/time.ts'
import type { Leases } from '../../src/ports/leases.ts'
import type { RateCounters } from '../../src/ports/rate-counters.ts'
import type { SignedIn, SignInCodes } from '../../src/ports/sign-in-codes.ts'
import { until } from '../support/until.ts'

/** What one process has of it. */
export interface SharedState {
  readonly leases: Leases
  readonly codes: SignInCodes
  readonly rateCounters: RateCounters
}

export interface OpenSharedState {
  readonly processes: readonly [SharedState, SharedState]
  /** Moves the clock of both. */
  advanceMs(ms: number): Promise<void>
  close(): Promise<void>
}

const LEASE_MS = MINUTE_MS
const PERIOD_MS = MINUTE_MS
/** Several of them are shared at once. */
const BRIEF_MS = 20

const signedIn = (token: string): SignedIn => {
  return { token, expiresAtMs: 1, user: { id: 1, email: 'a@example.org', name: 'A' } }
}

export function describeSharedState(name: string, open: () => Promise<OpenSharedState>): void {
  describe(`shared state: ${name}`, () => {
    let shared: OpenSharedState
    let one: SharedState
    let other: SharedState
    beforeEach(async () => {
      shared = await open()
      ;[one, other] = shared.processes
    })
    afterEach(() => shared.close())

    describe('a lease', () => {
      const take = ({ leases }: SharedState) => leases.take('x', LEASE_MS)

      it('is one process’s alone, who may prolong it', async () => {
        expect([await take(one), await take(other), await take(one)]).to.deep.equal([
          true,
          false,
          true,
        ])
      })

      it('is free when it is over or given up, and another of another name always', async () => {
        await take(one)
        expect(await other.leases.take('y', LEASE_MS)).to.equal(true)
        await shared.advanceMs(LEASE_MS + 1)
        expect(await take(other)).to.equal(true)
        await other.leases.release('x')
        expect(await take(one)).to.equal(true)
      })

      it('is not given up by who has it not', async () => {
        await take(one)
        await other.leases.release('x')
        expect(await take(other)).to.equal(false)
      })
    })

    describe('a sign-in code', () => {
      it('is exchanged once, also when it comes again before there is an answer', async () => {
        const { promise, resolve } = Promise.withResolvers<SignedIn>()
        const begun = Promise.withResolvers<void>()
        const first = one.codes.once('c', () => {
          begun.resolve()
          return promise
        })
        await begun.promise
        const second = other.codes.once('c', async () => signedIn('second'))
        resolve(signedIn('first'))
        expect(await first).to.deep.equal({ signedIn: signedIn('first'), isRepeat: false })
        expect(await second).to.deep.equal({ signedIn: signedIn('first'), isRepeat: true })
      })

      it('is another one with another secret, and after two minutes', async () => {
        await one.codes.once('c', async () => signedIn('first'))
        const of = async (secret: string) =>
          (await other.codes.once(secret, async () => signedIn('another'))).signedIn.token
        expect(await of('d')).to.equal('another')
        expect(await of('c')).to.equal('first')
        await shared.advanceMs(2 * MINUTE_MS)
        expect(await of('c')).to.equal('another')
      })

      it('goes on where it failed', async () => {
        const failure = one.codes.once('c', async (attempt) => {
          attempt.exchange.tokens = { idToken: 'kept', accessToken: undefined }
          throw new Error('later')
        })
        expect(await failure.catch((error: Error) => error.message)).to.equal('later')
        const { signedIn: answer, isRepeat } = await other.codes.once('c', async (attempt) =>
          signedIn(attempt.exchange.tokens?.idToken ?? 'lost'),
        )
        expect([answer.token, isRepeat]).to.deep.equal(['kept', false])
      })
    })

    describe('a rate counter', () => {
      const open2 = (name2: string) => {
        const allowance = { points: 3, periodMs: PERIOD_MS }
        return [one, other].map(({ rateCounters }) => rateCounters.open(name2, allowance))
      }

      it('counts the points of each key, beyond the allowance too', async () => {
        const [counter] = open2('a')
        expect(await counter?.count('k', 2)).to.include({ consumedPoints: 2, remainingPoints: 1 })
        expect(await counter?.count('k', 2)).to.include({ consumedPoints: 4, remainingPoints: 0 })
        expect(await counter?.count(7, 0)).to.include({ consumedPoints: 0, remainingPoints: 3 })
        expect((await counter?.count('k', 0))?.msBeforeNext).to.be.within(1, PERIOD_MS)
      })

      it('knows soon what the other process has counted', async () => {
        const [counter, elsewhere] = open2('b')
        await counter?.count('k', 2)
        await until('the other knows of both points', async () => {
          return (await elsewhere?.count('k', 0))?.consumedPoints === 2
        })
      })

      it('knows it also when a period has ended before it was told of', async () => {
        const brief = one.rateCounters.open('c', { points: 3, periodMs: BRIEF_MS })
        await brief.count('k', 1)
        await pause(2 * BRIEF_MS)
        await brief.count('k', 1)
        const [counter, elsewhere] = open2('d')
        await counter?.count('k', 2)
        await until('the other knows of both points', async () => {
          return (await elsewhere?.count('k', 0))?.consumedPoints === 2
        })
      })
    })
  })
}
