// Goal: the workers of docker-compose.citus.yml are added once, with connections among all nodes
// that want a password. Method: the program that the compose file runs, on nodes of a cluster that
// know nothing of each other in a database of the test's own.

import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { migrate } from '../../src/postgres/server/migrate.ts'
import { useCitusCluster } from '../support/citus.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { runOnce } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const PROGRAM = fileURLToPath(new URL('../../docker/add-workers.ts', import.meta.url))
const NAME = 'composed'
const PASSWORD = 'of-the-compose-file'
const FIND_WORKERS = `
  SELECT DISTINCT nodeport FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
  WHERE logicalrelid = 'user_state'::regclass`

describe('adding workers to a coordinator', () => {
  const citus = useCitusCluster()
  let folder: string
  let url: string

  before(async () => {
    const { coordinator, workers } = citus()
    for (const node of [coordinator, ...workers]) await makePart(node)
    const { host } = new URL(coordinator.url())
    url = `postgresql://${NAME}:${PASSWORD}@${host}/${NAME}`
    folder = await mkdtemp(join(tmpdir(), 'thermolog-secrets-'))
    await mkdir(join(folder, 'thermolog'))
    await writeFile(join(folder, 'thermolog/.env'), `DATABASE_URL=${url}\n`)
  })

  after(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true })
  })

  const add = (...args: string[]) => {
    const order = [PROGRAM, `--directory=${folder}`, ...args]
    const { status, stdout, stderr } = spawnSync(process.execPath, order, { encoding: 'utf8' })
    expect(status, stderr).to.equal(0)
    return stdout
  }
  const addresses = () => citus().workers.map((worker) => new URL(worker.url()).host)
  const workersWithShards = async () => (await runOnce(url, FIND_WORKERS)).length

  it('has shards moved to one that is added later', async () => {
    const [first = '', second = ''] = addresses()
    expect(add(first)).to.equal(`added ${first}\n`)
    await migrate(url)
    expect(await workersWithShards()).to.equal(1)
    expect(add('--rebalance', first, second)).to.equal(`added ${second}\n`)
    await until('it has a shard', async () => (await workersWithShards()) === 2)
  })

  it('does nothing where all are known, even if one is away', async () => {
    await citus().workers[0]?.kill()
    expect(add(...addresses())).to.equal('')
  })
})

/** What the image of Citus makes of an empty volume: whoever connects has to know the password. */
async function makePart(node: PostgresServer): Promise<void> {
  await runOnce(node.url(), `CREATE ROLE ${NAME} LOGIN SUPERUSER PASSWORD '${PASSWORD}'`)
  await runOnce(node.url(), `CREATE DATABASE ${NAME} OWNER ${NAME}`)
  await runOnce(node.url(NAME), 'CREATE EXTENSION citus')
  const [found] = await runOnce(node.url(), 'SHOW hba_file')
  const file = String(found?.['hba_file'])
  const rules = readFileSync(file, 'utf8')
  writeFileSync(file, `host ${NAME} ${NAME} all scram-sha-256\n${rules}`)
  await node.restart()
}
