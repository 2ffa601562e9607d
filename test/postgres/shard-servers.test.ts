// Goal: that a server is away matters only to those who need it. Method: two shards, one of them on
// a server that never answers, or on none.

import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { expect } from 'chai'
import { ServiceError } from '../../src/domain/errors.ts'
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
const NOWHERE = 'postgresql://127.0.0.1:1/x'

describe('the shard of a sensor', () => {
  const postgres = usePostgres()

  /** @param firstUrl of the server of the first shard */
  const openWith = async (firstUrl?: string) => {
    const { url } = await newMigratedDatabase(postgres())
    await runOnce(url, TWO_SHARDS)
    return openServers(url, 1, async (shards) => {
      return shards.map((shard) => (shard === FIRST ? (firstUrl ?? url) : url))
    })
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
