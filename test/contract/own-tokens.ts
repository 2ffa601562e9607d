// What every keeper of users promises to people who make daemon tokens for themselves. Method: one
// suite against the ports, called by the tests of each engine.

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { AccessToken } from '../../src/domain/access.ts'
import type { NewOwnToken, OwnTokenRotation } from '../../src/ports/control-writer.ts'
import { newUser, NOW_MS, PERMISSIVE } from './open-data.ts'
import type { NewData, OpenData, TestData } from './open-data.ts'

/** Declares the suite for one engine. */
export function describeOwnTokens(name: string, newData: NewData): void {
  describe(`${name} as the keeper of tokens that people make`, () => {
    let files: TestData
    let data: OpenData
    let userId: number
    let madeInSessionId: number
    beforeEach(async () => {
      files = await newData(PERMISSIVE)
      data = await files.open()
      userId = await newUser(data)
      const order = { userId, kind: 'mobile', name: 'acme', rights: [], expiresAtMs: null } as const
      const session = await data.controlWriter.createToken({ ...order, hash: randomBytes(32) })
      madeInSessionId = session.id
    })
    afterEach(async () => {
      await data.close()
      await files.remove()
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
      const { id } = token
      const order = { hash: randomBytes(32), nowMs: NOW_MS, overlapMs: 1 }
      // By an operator, who does not take it from its owner.
      await data.controlWriter.rotateToken(id, order)
      await data.close()
      data = await files.open()
      const own = await listOwn()
      expect(own.map((one) => one.madeInSessionId)).to.deep.equal(Array(3).fill(madeInSessionId))
      expect(own[0]).to.deep.equal({ ...token, expiresAtMs: NOW_MS + 1 })
      expect(own[1]).to.deep.equal(typeof rotated === 'object' && rotated.token)
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

    it('has a hundred of a user that work, however they are made, and few that ended', async () => {
      const made = await Promise.all(Array.from({ length: 101 }, () => make()))
      const tokens = made.filter((one) => typeof one === 'object')
      expect(tokens).to.have.lengthOf(100)
      const [first, second] = tokens.map(({ id }) => id)
      expect(await rotate(first ?? 0)).to.equal('too-many')
      const replaced = await rotate(first ?? 0, { overlapMs: 0 })
      expect(replaced).to.have.property('oldExpiresAtMs', NOW_MS)
      expect(await make()).to.equal('too-many')
      await data.controlWriter.revokeToken(second ?? 0)
      expect(await make({ expiresAtMs: NOW_MS + 1 })).to.be.an('object')
      expect(await make()).to.equal('too-many')
      expect(await make({ nowMs: NOW_MS + 1 })).to.be.an('object')
      for (const { id } of await listOwn()) await data.controlWriter.revokeToken(id)
      await make()
      expect(await listOwn()).to.have.lengthOf(101)
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
