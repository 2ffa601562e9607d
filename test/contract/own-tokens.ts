// What every keeper of users promises to people who make daemon tokens for themselves. Method: one
// suite against the ports, called by the tests of each engine.

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { AccessToken } from '../../src/domain/access.ts'
import { DAY_MS } from '../../src/domain/time.ts'
import type { NewOwnToken, OwnTokenRotation } from '../../src/ports/control-writer.ts'
import { NOW_MS, openForEach } from './open-data.ts'
import type { NewData, OpenData } from './open-data.ts'

/** Declares the suite for one engine. */
export function describeOwnTokens(name: string, newData: NewData): void {
  describe(`${name} as the keeper of tokens that people make`, () => {
    let data: OpenData
    let userId: number
    let madeInSessionId: number
    const reopen = openForEach(newData, (opened, id) => {
      data = opened
      userId = id
    })
    beforeEach(async () => {
      const order = { userId, kind: 'mobile', name: 'acme', rights: [], expiresAtMs: null } as const
      const session = await data.controlWriter.createToken({ ...order, hash: randomBytes(32) })
      madeInSessionId = session.id
    })
    const make = (change: Partial<NewOwnToken> = {}) => {
      const what = {
        kind: 'daemon',
        name: 'x',
        rights: ['sensors:read'],
        expiresAtMs: null,
      } as const
      const made = { userId, madeInSessionId, hash: randomBytes(32), nowMs: NOW_MS }
      return data.controlWriter.createOwnToken({ ...what, ...made, ...change })
    }
    const rotate = (id: number, change: Partial<OwnTokenRotation> = {}) => {
      const order = { userId, madeInSessionId, hash: randomBytes(32), nowMs: NOW_MS, overlapMs: 1 }
      return data.controlWriter.rotateOwnToken(id, { ...order, ...change })
    }
    const listOwn = async () => {
      const tokens = await data.control.listTokens(userId)
      return tokens.filter((token) => token.madeInSessionId !== null)
    }

    it('says in which session one was made, and what replaces it, after a start too', async () => {
      const token = (await make()) as AccessToken
      const rotated = await rotate(token.id)
      const order = { hash: randomBytes(32), nowMs: NOW_MS, overlapMs: 1 }
      const byOperator = await data.controlWriter.rotateToken(token.id, order)
      await reopen()
      expect(await listOwn()).to.deep.equal([
        { ...token, expiresAtMs: NOW_MS + 1 },
        typeof rotated === 'object' && rotated.token,
      ])
      expect(byOperator?.token.madeInSessionId).to.equal(null)
    })

    it('makes none in a session that has ended, of another user or of nobody', async () => {
      const token = (await make()) as AccessToken
      const other = await data.controlWriter.createUser('other@example.org', '')
      expect(await make({ userId: other?.id ?? 0 })).to.equal('session-ended')
      expect(await make({ userId: 999 })).to.equal('session-ended')
      await data.controlWriter.revokeToken(madeInSessionId)
      expect(await make()).to.equal('session-ended')
      expect(await rotate(token.id)).to.equal('session-ended')
      expect(await listOwn()).to.deep.equal([token])
    })

    it('has a hundred of a user that work, however they are made', async () => {
      const made = await Promise.all(Array.from({ length: 101 }, () => make()))
      const tokens = made.filter((one) => typeof one === 'object')
      expect(tokens).to.have.lengthOf(100)
      // Those made at the same time come in any order.
      const [first, second] = tokens.map(({ id }) => id).toSorted((one, other) => one - other)
      expect(await rotate(first ?? 0)).to.equal('too-many')
      const replaced = await rotate(first ?? 0, { overlapMs: 0 })
      expect(replaced).to.have.property('oldExpiresAtMs', NOW_MS)
      // By any clock.
      expect((await listOwn())[0])
        .to.include({ id: first })
        .and.not.include({ revokedAtMs: null })
      expect(await make()).to.equal('too-many')
      await data.controlWriter.revokeToken(second ?? 0)
      expect(await make({ expiresAtMs: NOW_MS + 1 })).to.be.an('object')
      expect(await make()).to.equal('too-many')
      expect(await make({ nowMs: NOW_MS + 1 })).to.be.an('object')
    })

    it('keeps those that ended last, and all that may work by another clock', async () => {
      const tokens: AccessToken[] = []
      for (let at = 0; at < 103; at++) {
        const token = (await make({ expiresAtMs: at === 0 ? NOW_MS + 1 : null })) as AccessToken
        tokens.push(token)
        if (at > 1) await data.controlWriter.revokeToken(token.id)
      }
      const [expired, leaked] = tokens.map(({ id }) => id)
      await data.controlWriter.revokeToken(leaked ?? 0)
      await make({ nowMs: NOW_MS + 100 * DAY_MS })
      const kept = (await listOwn()).map(({ id }) => id)
      expect(kept).to.have.lengthOf(102)
      expect(kept).to.include.members([expired, leaked])
    })

    it('replaces one as often as is asked with one that is valid as long', async () => {
      const forEver = (await make()) as AccessToken
      const forDay = (await make({ expiresAtMs: NOW_MS + DAY_MS })) as AccessToken
      for (const nowMs of [NOW_MS + 1, NOW_MS + 2]) {
        const lasting = await rotate(forEver.id, { nowMs, overlapMs: 1_000 })
        const passing = await rotate(forDay.id, { nowMs, overlapMs: 1_000 })
        expect(lasting).to.have.nested.property('token.expiresAtMs', null)
        expect(passing).to.have.nested.property('token.expiresAtMs', nowMs + DAY_MS)
      }
    })

    it('replaces none that does not work, and leaves what an operator made', async () => {
      const token = (await make()) as AccessToken
      await data.controlWriter.revokeToken(token.id)
      expect(await rotate(token.id)).to.equal(undefined)
      expect(await rotate(madeInSessionId)).to.equal(undefined)
      expect(await listOwn()).to.have.lengthOf(1)
    })
  })
}
