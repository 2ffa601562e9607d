// Whose a token is. The control data are a map here: what matters is when they are asked.

import { expect } from 'chai'
import { AccessTokens, mintToken } from '../../src/access/tokens.ts'
import type { MintedToken } from '../../src/access/tokens.ts'
import type { AccessToken, Principal } from '../../src/domain/access.ts'
import { DAY_MS } from '../../src/domain/time.ts'
import type { ControlReader } from '../../src/ports/control-reader.ts'
import type { ControlWriter } from '../../src/ports/control-writer.ts'
import { FakeClock } from '../support/clock.ts'
import { RecordingLog } from '../support/log.ts'

describe('mintToken', () => {
  it('makes 256 random bits behind the prefix of the kind', () => {
    const { text, hash } = mintToken('daemon')
    expect(text).to.match(/^thd_live_[\w-]{43}$/)
    expect(hash).to.have.lengthOf(32)
    expect(mintToken('mobile').text).to.match(/^thm_live_[\w-]{43}$/)
    expect(mintToken('daemon').text).not.to.equal(text)
  })
})

describe('AccessTokens', () => {
  let clock: FakeClock
  let lookUps: number
  let known: Map<string, Principal>
  let written: ReadonlyMap<number, number>[]
  let isWritingBroken: boolean
  let tokens: AccessTokens

  beforeEach(() => {
    clock = new FakeClock()
    lookUps = 0
    known = new Map()
    written = []
    isWritingBroken = false
    const control = {
      findPrincipal: async (hash: Buffer) => {
        lookUps++
        return known.get(hash.toString('hex'))
      },
    } as Partial<ControlReader> as ControlReader
    const controlWriter = {
      recordTokenUses: async (uses: ReadonlyMap<number, number>) => {
        if (isWritingBroken) throw new Error('disk on fire')
        written.push(uses)
      },
    } as Partial<ControlWriter> as ControlWriter
    tokens = new AccessTokens(
      { control, controlWriter, clock, log: new RecordingLog() },
      { mobileTokenIdleMs: 90 * DAY_MS },
    )
  })

  function issue(change: Partial<AccessToken> = {}): MintedToken {
    const kind = change.kind ?? 'daemon'
    const minted = mintToken(kind)
    const token: AccessToken = {
      id: known.size + 1,
      userId: 1,
      kind,
      serialNumberPrefix: '',
      appName: '',
      madeInSessionId: null,
      name: 'gateway',
      rights: [],
      createdAtMs: clock.nowMs(),
      expiresAtMs: null,
      lastUsedAtMs: null,
      revokedAtMs: null,
      ...change,
    }
    const user = { id: 1, email: 'a@example.org', name: 'A' }
    known.set(minted.hash.toString('hex'), { token, user })
    return minted
  }

  const find = async ({ text }: { text: string }) => tokens.find(text, clock.nowMs())

  it('looks a token up once', async () => {
    const token = issue()
    expect((await find(token))?.token.id).to.equal(1)
    expect(tokens.find(token.text, clock.nowMs())).not.to.be.instanceOf(Promise)
    expect(lookUps).to.equal(1)
  })

  it('knows no other token, however long', async () => {
    issue()
    expect(await find(mintToken('daemon'))).to.equal(undefined)
    expect(await find({ text: 'x'.repeat(1_000_000) })).to.equal(undefined)
    expect(lookUps).to.equal(1)
  })

  it('checks at each use whether a token has run out', async () => {
    const token = issue({ expiresAtMs: clock.nowMs() + 1 })
    expect(await find(token)).not.to.equal(undefined)
    clock.advanceMs(1)
    expect(await find(token)).to.equal(undefined)
  })

  it('lets mobile tokens run out that are not used', async () => {
    const token = issue({ kind: 'mobile' })
    for (let use = 0; use < 3; use++) {
      clock.advanceMs(90 * DAY_MS - 1)
      expect(await find(token)).not.to.equal(undefined)
    }
    clock.advanceMs(90 * DAY_MS)
    expect(await find(token)).to.equal(undefined)
  })

  it('keeps sessions and their last uses while the clock is wrong by years', async () => {
    const [used, fresh] = [issue({ kind: 'mobile' }), issue({ kind: 'mobile' })]
    await find(used)
    clock.advanceMs(-30 * 365 * DAY_MS)
    for (const token of [used, fresh]) expect(await find(token)).not.to.equal(undefined)
    const wrongMs = clock.nowMs()
    clock.advanceMs(30 * 365 * DAY_MS)
    await tokens.stop()
    expect(written).to.deep.equal([
      new Map([
        [1, clock.nowMs()],
        [2, wrongMs],
      ]),
    ])
    for (const token of [used, fresh]) expect(await find(token)).not.to.equal(undefined)
  })

  it('does not know a revoked token any more', async () => {
    const token = issue()
    await find(token)
    known.clear()
    tokens.forgetToken(1)
    expect(await find(token)).to.equal(undefined)
  })

  it('does not keep what it was looking up while the token was revoked', async () => {
    const token = issue()
    const under = find(token)
    known.clear()
    tokens.forgetUser(1)
    await under
    expect(await find(token)).to.equal(undefined)
  })

  it('writes last uses when it stops, and keeps those that it could not write', async () => {
    await find(issue())
    isWritingBroken = true
    await tokens.stop()
    isWritingBroken = false
    await tokens.stop()
    expect(written).to.deep.equal([new Map([[1, clock.nowMs()]])])
    await tokens.stop()
    expect(written).to.have.lengthOf(1)
  })
})
