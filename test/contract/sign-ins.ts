// What every keeper of users promises to people who sign in, with a provider or with a link.
// Method: one suite against the ports, called by the tests of each engine.

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { VerifiedIdentity } from '../../src/domain/access.ts'
import type { LinkRedemption } from '../../src/ports/control-writer.ts'
import type { NewSignInLink } from '../../src/ports/sign-in-links.ts'
import { NOW_MS, openForEach } from './open-data.ts'
import type { NewData, OpenData } from './open-data.ts'

/** Declares the suite for one engine. */
export function describeSignIns(name: string, newData: NewData): void {
  describe(`${name} as the keeper of sessions`, () => {
    let data: OpenData
    let userId: number
    const reopen = openForEach(newData, (opened, id) => {
      data = opened
      userId = id
    })
    const createDaemonToken = (ownerId = userId) => {
      const order = { userId: ownerId, kind: 'daemon', name: 'gateway', rights: [] } as const
      return data.controlWriter.createToken({ ...order, hash: randomBytes(32), expiresAtMs: null })
    }

    describe('signing in', () => {
      const ANA: VerifiedIdentity = {
        issuer: 'https://id.example.org',
        subject: 'ana',
        email: 'ana@example.org',
        isEmailVerified: true,
        name: 'Ana',
      }
      const signIn = (change: Partial<VerifiedIdentity> = {}, maySignUp = true) => {
        const rights = ['sensors:read'] as const
        const token = {
          name: 'acme',
          appName: 'Cellar 2.1',
          rights,
          hash: randomBytes(32),
          expiresAtMs: null,
        }
        return data.controlWriter.signIn({ identity: { ...ANA, ...change }, maySignUp, token })
      }

      it('makes a user once, found by the identity from then on', async () => {
        expect(await signIn({}, false)).to.equal(undefined)
        const [one, two] = await Promise.all([signIn(), signIn({ email: 'new@example.org' })])
        expect(one?.user.id).to.equal(two?.user.id)
        expect((await signIn({}, false))?.user.id).to.equal(one?.user.id)
        expect(await data.control.listIdentities()).to.have.lengthOf(1)
      })

      it('joins a user by an address that is verified, and by no other', async () => {
        const made = await data.controlWriter.createUser('Ana@example.org', '')
        expect(await signIn({ isEmailVerified: false })).to.equal(undefined)
        expect((await signIn({}, false))?.user.id).to.equal(made?.id)
        // Another person of the same issuer cannot take the account over by its address.
        expect(await signIn({ subject: 'eve' })).to.equal(undefined)
      })

      it('is a session that says which app it is of, until it is revoked', async () => {
        const { user, token } = (await signIn()) ?? {}
        await createDaemonToken()
        const sessions = () => data.control.listSessions(user?.id ?? 0)
        expect(await sessions()).to.deep.equal([token])
        expect(token?.appName).to.equal('Cellar 2.1')
        await signIn()
        await data.controlWriter.revokeToken(token?.id ?? 0)
        expect((await sessions()).map(({ id }) => id)).not.to.include(token?.id)
        expect(await sessions()).to.have.lengthOf(1)
      })

      it('lets those delete their account who signed up and have no operator’s token', async () => {
        const { deleteAccount, revokeToken } = data.controlWriter
        expect(await deleteAccount(userId)).to.equal(false)
        const { user, token: session } = (await signIn()) ?? {}
        const ownId = user?.id ?? 0
        await data.controlWriter.createOwnToken({
          userId: ownId,
          kind: 'daemon',
          name: 'own',
          rights: [],
          hash: randomBytes(32),
          expiresAtMs: null,
          madeInSessionId: session?.id ?? 0,
          nowMs: NOW_MS,
        })
        const daemon = await createDaemonToken(ownId)
        expect(await deleteAccount(ownId)).to.equal(false)
        expect(await data.control.listSessions(ownId)).to.have.lengthOf(1)
        await revokeToken(daemon.id)
        await data.controlWriter.createSensor(ownId, 'A1', undefined)
        await reopen()
        expect(await data.controlWriter.deleteAccount(ownId)).to.equal(true)
        expect(await data.controlWriter.deleteAccount(ownId)).to.equal(undefined)
        expect(await data.control.findUser('ana@example.org')).to.equal(undefined)
        expect(await data.control.countSensorDeletions()).to.equal(1)
      })

      it('ends with the identity', async () => {
        const signedIn = await signIn()
        const id = signedIn?.user.id ?? 0
        expect(await data.controlWriter.unlinkIdentity(id, ANA.issuer)).to.equal(true)
        expect(await data.controlWriter.unlinkIdentity(id, ANA.issuer)).to.equal(false)
        const [token] = await data.control.listTokens(id)
        expect(token?.revokedAtMs).to.be.a('number')
      })
    })

    describe('a sign-in link', () => {
      const addLink = async (of: Partial<NewSignInLink> = {}) => {
        const hash = randomBytes(32)
        const link = { userId, salt: randomBytes(32), nowMs: NOW_MS, expiresAtMs: NOW_MS + 1_000 }
        await data.controlWriter.createSignInLink({ hash, ...link, ...of })
        return hash
      }
      const redeem = (linkHash: Buffer, change: Partial<LinkRedemption> = {}, hash = linkHash) => {
        const token = { name: 'link', rights: [], hash, expiresAtMs: null }
        const order = { linkHash, token, firstUser: undefined, nowMs: NOW_MS, ...change }
        return data.controlWriter.redeemSignInLink(order)
      }
      const firstUser = { email: 'first@example.org', name: 'First' }

      it('begins one session, which a repeat gets for two minutes', async () => {
        const link = await addLink()
        expect((await data.control.findSignInLink(link))?.userId).to.equal(userId)
        const found = await Promise.all([redeem(link), redeem(link)])
        await reopen()
        found.push(await redeem(link, { nowMs: NOW_MS + 119_999 }))
        const ids = found.map((signedIn) => [signedIn?.user.id, signedIn?.token.id])
        expect(new Set(ids.map(String)).size).to.equal(1)
        expect(await data.control.listSessions(userId)).to.have.lengthOf(1)
        expect(await redeem(link, {}, randomBytes(32))).to.equal(undefined)
        expect(await redeem(link, { nowMs: NOW_MS + 120_000 })).to.equal(undefined)
        await data.controlWriter.revokeToken(found[0]?.token.id ?? 0)
        expect(await redeem(link)).to.equal(undefined)
      })

      it('ends in time, with its user, and when a sixth is created', async () => {
        expect(await redeem(await addLink(), { nowMs: NOW_MS + 1_000 })).to.equal(undefined)
        const links: Buffer[] = []
        for (let at = 0; at < 6; at++) links.push(await addLink({ nowMs: NOW_MS + 1 + at }))
        const [oldest, next, last] = [links.at(0), links.at(1), links.at(5)] as Buffer[]
        expect(await redeem(oldest as Buffer)).to.equal(undefined)
        expect((await redeem(next as Buffer))?.user.id).to.equal(userId)
        await data.controlWriter.deleteUser(userId)
        expect(await redeem(last as Buffer)).to.equal(undefined)
      })

      it('makes the first user once, and ends when there is one', async () => {
        const first = { userId: null, expiresAtMs: null }
        await data.controlWriter.deleteUser(userId)
        expect(await data.control.hasUsers()).to.equal(false)
        const [one, other, unused] = [
          await addLink(first),
          await addLink(first),
          await addLink(first),
        ]
        expect(await redeem(one)).to.equal(undefined)
        const names = [firstUser, { ...firstUser, email: 'other@example.org' }]
        const made = await Promise.all(
          [one, other].map((link, at) => redeem(link, { firstUser: names[at] })),
        )
        const users = await data.control.listUsers()
        expect(users).to.have.lengthOf(1)
        expect(made.filter((signedIn) => signedIn !== undefined)).to.have.lengthOf(1)
        const winner = made[0] === undefined ? other : one
        expect((await redeem(winner, { firstUser }))?.user).to.deep.equal(users[0])
        await data.controlWriter.deleteUser(users[0]?.id ?? 0)
        expect(await redeem(unused, { firstUser })).to.equal(undefined)
      })

      it('ends, with the sessions that began so, when an identity joins the user', async () => {
        const [used, open] = [await addLink(), await addLink()]
        const session = await redeem(used)
        const { email } = (await data.control.listUsers()).find(({ id }) => id === userId) ?? {}
        const claims = { issuer: 'i', subject: 's', email, isEmailVerified: true, name: '' }
        const signIn = () => {
          const token = { name: 'acme', rights: [], hash: randomBytes(32), expiresAtMs: null }
          return data.controlWriter.signIn({ identity: claims, maySignUp: false, token })
        }
        const joined = await signIn()
        expect(joined?.endedTokenIds).to.deep.equal([session?.token.id])
        expect(await redeem(open)).to.equal(undefined)
        const later = await redeem(await addLink())
        expect((await signIn())?.endedTokenIds).to.deep.equal([])
        const sessions = await data.control.listSessions(userId)
        expect(sessions.map(({ id }) => id)).to.include.members([joined?.token.id, later?.token.id])
      })
    })
  })
}
