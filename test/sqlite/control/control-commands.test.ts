// Deleting a user, signing in, setting aside and switching stores, as the commit thread carries
// them out.

import { expect } from 'chai'
import type { SubmittedMeasurement } from '../../../src/domain/measurement.ts'
import type { VerifiedIdentity } from '../../../src/domain/access.ts'
import { createControlCommands } from '../../../src/sqlite/control/control-commands.ts'
import type { ControlCommands } from '../../../src/sqlite/control/control-commands.ts'
import { UserDeletions } from '../../../src/sqlite/control/deletions.ts'
import { CommitterBench } from '../../support/committer.ts'

const NOW_MS = 1_800_000_000_000
const ANA: VerifiedIdentity = {
  issuer: 'https://id.example.org',
  subject: 'ana',
  email: 'ana@example.org',
  isEmailVerified: true,
  name: 'Ana',
}

describe('ControlCommands', () => {
  let bench: CommitterBench
  let commands: ControlCommands
  let tokens = 0

  const clock = { nowMs: () => bench.nowMs, monotonicMs: () => bench.nowMs }
  const newDeletions = () => new UserDeletions(bench.control, clock)

  beforeEach(() => {
    bench = new CommitterBench()
    const settings = { ...bench.settings, deletions: newDeletions() }
    commands = createControlCommands(bench.control, bench.committer.sensors, clock, settings)
  })
  afterEach(() => bench.close())

  const signIn = (change: Partial<VerifiedIdentity> = {}, maySignUp = true) => {
    const hash = Buffer.alloc(32, ++tokens)
    const token = { name: 'idp', rights: ['sensors:read'] as const, hash, expiresAtMs: null }
    return commands.signIn({ identity: { ...ANA, ...change }, maySignUp, token })
  }

  const submit = (userId: number, change: Partial<SubmittedMeasurement> = {}) => {
    const plain = { eventId: 'e-1', serialNumber: 'cellar', tempCelsius: 11.75 }
    const measurements = [{ ...plain, measuredAtMs: NOW_MS, ...change }]
    return bench.commit([{ userId, receivedAtMs: NOW_MS, measurements }])
  }

  const rows = (sql: string) => bench.control.prepare(sql).all()

  describe('signIn', () => {
    it('ends the least recently used of more than a hundred sessions', () => {
      const ids = Array.from({ length: 100 }, () => {
        bench.nowMs += 1_000
        return signIn()?.token.id ?? 0
      })
      commands.recordTokenUses(new Map([[ids[0] ?? 0, bench.nowMs]]))
      signIn({ subject: 'eve', email: 'eve@example.org' })
      const another = signIn()
      expect(another?.endedTokenIds).to.deep.equal([ids[1]])
      expect(rows('SELECT id FROM access_tokens WHERE revoked_at_ms IS NOT NULL')).to.deep.equal([
        { id: ids[1] },
      ])
    })
  })

  describe('deleteUser', () => {
    it('wipes what is known of the person and orders that the measurements go', () => {
      const userId = signIn()?.user.id ?? 0
      submit(userId)
      submit(userId, { eventId: 'e-2', serialNumber: 'attic' })
      expect(commands.deleteUser(userId)).to.equal(2)
      for (const table of ['users', 'identities', 'access_tokens', 'sensor_latest', 'set_aside']) {
        expect(rows(`SELECT * FROM ${table}`), table).to.deep.equal([])
      }
      expect(rows('SELECT DISTINCT serial_number AS sn, alias FROM sensors')).to.deep.equal([
        { sn: '', alias: '' },
      ])
      expect(rows('SELECT sensor_id, user_id FROM sensor_deletions')).to.deep.equal([
        { sensor_id: 1, user_id: userId },
        { sensor_id: 2, user_id: userId },
      ])
      expect(commands.deleteUser(userId)).to.equal(undefined)
    })

    it('deletes a few sensors at a time, and goes on after a crash', () => {
      const userId = signIn()?.user.id ?? 0
      const other = signIn({ subject: 'eve', email: 'eve@example.org' })?.user.id ?? 0
      for (let sensor = 0; sensor < 450; sensor++) {
        submit(userId, { eventId: `${sensor}`, serialNumber: `${sensor}` })
      }
      submit(other)
      commands.deleteSensor(userId, 450)
      expect(commands.deleteUser(userId)).to.equal(449)
      expect(submit(userId, { eventId: 'e-2', serialNumber: '0' }).rejections).to.have.lengthOf(1)
      const live = () => rows('SELECT id FROM sensors WHERE deleted_at_ms IS NULL').length
      const counts = [live()]
      for (const deletions = newDeletions(); deletions.isPending; counts.push(live())) {
        deletions.continue()
      }
      expect(counts).to.deep.equal([350, 250, 150, 50, 1])
      expect(newDeletions().isPending).to.equal(false)
      for (const table of ['sensor_latest', 'accepted_per_day']) {
        expect(rows(`SELECT DISTINCT sensor_id AS id FROM ${table}`)).to.deep.equal([{ id: 451 }])
      }
      expect(rows("SELECT id FROM sensors WHERE serial_number <> ''")).to.deep.equal([{ id: 451 }])
      expect(rows('SELECT * FROM sensor_deletions')).to.have.lengthOf(450)
    })

    it('is through only when a crash would not bring the measurements back', () => {
      const userId = signIn()?.user.id ?? 0
      const { seq } = submit(userId)
      commands.deleteUser(userId)
      bench.committer.noteForwarded(seq)
      commands.noteDeletionPass(1, undefined)
      expect(rows('SELECT sensor_id FROM sensor_deletions')).to.have.lengthOf(1)
      bench.committer.tidy()
      commands.noteDeletionPass(1, undefined)
      expect(rows('SELECT sensor_id FROM sensor_deletions')).to.deep.equal([])
    })

    it('never gives the id again', () => {
      const userId = signIn()?.user.id ?? 0
      commands.deleteUser(userId)
      expect(signIn()?.user.id).to.be.greaterThan(userId)
    })

    it('takes nothing of what was still under way', () => {
      const userId = signIn()?.user.id ?? 0
      submit(userId)
      commands.deleteUser(userId)
      expect(submit(userId, { eventId: 'e-2' }).rejections).to.have.lengthOf(1)
      expect(submit(userId, { serialNumber: 'new', eventId: 'e-3' }).rejections).to.have.lengthOf(1)
      expect(rows('SELECT * FROM sensors WHERE deleted_at_ms IS NULL')).to.deep.equal([])
    })
  })

  describe('setAside', () => {
    const refused = (sensorId: number) => ({
      userId: 1,
      sensorId,
      measuredAtMs: NOW_MS,
      tieBreakNs: 0,
      tempCelsius: 11.75,
      reason: 'never',
    })

    it('keeps each once, and nothing of a sensor that is deleted meanwhile', () => {
      const userId = signIn()?.user.id ?? 0
      submit(userId)
      submit(userId, { eventId: 'e-2', serialNumber: 'attic' })
      commands.deleteSensor(userId, 2)
      for (const _ of [1, 2]) commands.setAside([refused(1), refused(2)])
      expect(rows('SELECT sensor_id AS id FROM set_aside')).to.deep.equal([{ id: 1 }])
      expect(commands.retrySetAside(undefined)).to.equal(1)
    })
  })

  describe('switchStore', () => {
    it('orders that leftovers go, and changes nothing when another store is in use', () => {
      expect(commands.adoptStore('old')).to.equal('old')
      submit(signIn()?.user.id ?? 0)
      expect(commands.adoptStore('new')).to.equal('old')
      const range = { startMs: 0, stopMs: 86_400_000 }
      const leftovers = [{ userId: 1, sensorId: 9, range }]
      expect(commands.switchStore({ from: 'other', to: 'new', leftovers })).to.equal(false)
      expect(rows('SELECT * FROM sensor_deletions')).to.deep.equal([])
      expect(commands.switchStore({ from: 'old', to: 'new', leftovers })).to.equal(true)
      expect(commands.adoptStore('old')).to.equal('new')
      expect(rows('SELECT sensor_id, stop_ms FROM sensor_deletions')).to.deep.equal([
        { sensor_id: 9, stop_ms: 86_400_000 },
      ])
    })
  })

  describe('signIn', () => {
    it('changes nothing when it is not possible', () => {
      expect(signIn({}, false)).to.equal(undefined)
      expect(signIn({ isEmailVerified: false })).to.equal(undefined)
      expect(signIn({ email: undefined })).to.equal(undefined)
      for (const table of ['users', 'identities', 'access_tokens']) {
        expect(rows(`SELECT * FROM ${table}`), table).to.deep.equal([])
      }
    })

    it('joins identities of several issuers in one user, one of each', () => {
      const id = signIn()?.user.id
      const other = { issuer: 'https://other.example.org', email: 'ANA@example.org' }
      expect(signIn({ ...other, subject: '7' }, false)?.user.id).to.equal(id)
      expect(signIn({ ...other, subject: '8' })).to.equal(undefined)
      expect(signIn({ ...other, subject: '7', email: undefined }, false)?.user.id).to.equal(id)
    })

    it('folds ASCII letters alone when it compares addresses', () => {
      commands.createUser('ärger@example.org', 'A')
      expect(signIn({ email: 'Ärger@example.org' }, false)).to.equal(undefined)
      expect(signIn({ email: 'äRGER@Example.org' }, false)?.user.name).to.equal('A')
    })
  })
})
