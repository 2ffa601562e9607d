// Goal: that a server is away matters only to those who need it, and nobody asks a server that had
// a shard long ago. Method: two shards, one of them on a server that never answers, or on none; a
// process stands still while a shard is moved.

import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { expect } from 'chai'
import { postponedError, ServiceError } from '../../src/domain/errors.ts'
import { closeServers, openServers } from '../support/postgres-process.ts'
import { newMigratedDatabase, runOnce, usePostgres } from '../support/postgres.ts'
import { within } from '../support/until.ts'

const FIRST = 5
const TWO_SHARDS = `
  UPDATE data_identity SET shards = '{5,7}'; INSERT INTO shards VALUES (5), (7);
  INSERT INTO sensors
    (shard, id, user_id, serial_number, serial_number_key, alias, created_at_ms, info_at_ms)
  VALUES (7, 1, 1, '1', '1', '', 0, 0)`
/** Shorter than a connection is waited for. */
const FOUND_MS_MAX = 2_000
const BRIEF_MS = 1_000
const LONG_MS = 6_000
const NOWHERE = 'postgresql://127.0.0.1:1/x'

describe('the shard of a sensor', () => {
  const postgres = usePostgres()

  /** @param firstUrl of the server of the first shard */
  const openWith = async (firstUrl?: string) => {
    const { url } = await newMigratedDatabase(postgres())
    await runOnce(url, TWO_SHARDS)
    const findServers = async (shards: readonly number[]) =>
      shards.map((shard) => (shard === FIRST ? (firstUrl ?? url) : url))
    return openServers(url, 1, { findServers })
  }

  it('is found while another server stands still', async () => {
    const sockets: Socket[] = []
    const silent = createServer((socket) => void sockets.push(socket))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as AddressInfo
    const servers = await openWith(`postgresql://127.0.0.1:${port}/x`)
    const finding = within('the sensor is found', servers.shardOfSensor(1), FOUND_MS_MAX)
    expect(await finding).to.equal(7)
    for (const socket of sockets) socket.destroy()
    silent.close()
    await closeServers(servers)
  })

  it('is unknown while a server that may have it is away', async () => {
    const servers = await openWith(NOWHERE)
    expect(await servers.shardOfSensor(1)).to.equal(7)
    const failure = await servers.shardOfSensor(2).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(ServiceError).with.property('code', 'overloaded')
    await closeServers(servers)
  })

  it('is the first one if no server has it', async () => {
    const servers = await openWith()
    expect(await servers.shardOfSensor(2)).to.equal(FIRST)
    await closeServers(servers)
  })
})

describe('the server of a shard', () => {
  const postgres = usePostgres()

  for (const still of ['wallMs', 'monotonicMs'] as const) {
    it(`is looked for again after a pause by which only ${still} goes on`, async () => {
      const { url } = await newMigratedDatabase(postgres())
      await runOnce(url, TWO_SHARDS)
      const times = { wallMs: 1_000, monotonicMs: 1_000 }
      const clock = { nowMs: () => times.wallMs, monotonicMs: () => times.monotonicMs }
      let moved = false
      let looks = 0
      const findServers = async (shards: readonly number[]) => {
        looks++
        return shards.map((shard) => (shard === FIRST && moved ? NOWHERE : url))
      }
      const servers = await openServers(url, 1, { findServers, clock })
      const before = await servers.databaseAt(FIRST)
      moved = true
      times[still] += BRIEF_MS
      expect(await servers.databaseAt(FIRST)).to.equal(before)
      times[still] += LONG_MS
      const after = await Promise.all([servers.databaseAt(FIRST), servers.databaseAt(FIRST)])
      expect(after[0]).not.to.equal(before)
      expect(after[1]).to.equal(after[0])
      expect(looks).to.equal(2)
      await closeServers(servers)
    })
  }

  it('is not used while nobody can say whether it still is', async () => {
    const { url } = await newMigratedDatabase(postgres())
    await runOnce(url, TWO_SHARDS)
    let nowMs = 0
    const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs }
    let isAway = false
    const findServers = async (shards: readonly number[]) => {
      if (isAway) throw postponedError('overloaded')
      return shards.map(() => url)
    }
    const servers = await openServers(url, 1, { findServers, clock })
    isAway = true
    nowMs += LONG_MS
    const failure = await servers.databaseAt(FIRST).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(ServiceError).with.property('code', 'overloaded')
    isAway = false
    await servers.databaseAt(FIRST)
    await closeServers(servers)
  })
})
