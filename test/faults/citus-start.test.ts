// Goal: whoever starts on Citus, or looks at it before, learns what is wrong with the cluster and
// what to do. Method: the real commands, on databases whose nodes are not as they should be.

import { expect } from 'chai'
import { migrate } from '../../src/postgres/server/migrate.ts'
import { useCitusCluster } from '../support/citus.ts'
import { runCommand } from '../support/command.ts'
import { newDatabase, runOnce } from '../support/postgres.ts'

/** Of machines that tests run on, and of versions that they were not written with. */
const OF_THE_MACHINE = /data checksums are off|was never tried/
const SPREAD = 'stop all processes, and run `thermolog database migrate`'

describe('what is said of a Citus cluster', () => {
  const citus = useCitusCluster()

  const check = (url: string) => runCommand('nowhere', ['database', 'check'], { DATABASE_URL: url })
  const warningsOf = async (url: string) => {
    const { exitCode, stdout, stderr } = await check(url)
    expect(exitCode, stderr).to.equal(0)
    const warnings = stdout.split('\n').filter((line) => line.startsWith('warning: '))
    return warnings.filter((line) => !OF_THE_MACHINE.test(line))
  }

  it('is nothing of new data and of spread ones, and that others are not spread', async () => {
    const { url } = await newDatabase(citus())
    expect(await warningsOf(url)).to.deep.equal([])
    await migrate(url)
    expect(await warningsOf(url)).to.deep.equal([])
    await runOnce(citus().url('postgres'), 'CREATE DATABASE older')
    const older = citus().url('older')
    await migrate(older)
    await citus().makeCoordinator('older')
    expect(await warningsOf(older)).to.deep.equal([
      `warning: Citus has no workers, so all data are on the coordinator: add some, ${SPREAD}`,
    ])
    await citus().addWorkers('older')
    expect(await warningsOf(older)).to.deep.equal([
      `warning: the tables are not spread over the workers: ${SPREAD}`,
    ])
  })

  it('is that DATABASE_URL names a worker', async () => {
    const database = await newDatabase(citus())
    await migrate(database.url)
    const url = citus().workers[0]?.url(database.name) ?? ''
    const fault = 'it is a worker of Citus: name the coordinator in DATABASE_URL'
    const { exitCode, stderr } = await check(url)
    expect(exitCode).to.equal(1)
    expect(stderr)
      .to.match(/PostgreSQL \S+ cannot be used\n/)
      .and.contain(`\n${fault}\n`)
    const started = await runCommand('nowhere', ['serve'], { DATABASE_URL: url, PORT: '0' })
    expect(started.exitCode).to.equal(2)
    expect(started.stderr).to.contain(`the server of DATABASE_URL cannot be used: ${fault}\n`)
  })

  it('is which worker could not give its shards away', async () => {
    const { url } = await newDatabase(citus())
    await migrate(url)
    const worker = citus().workers[0]
    const { host } = new URL(worker?.url() ?? '')
    await worker?.restart(['wal_level=replica'])
    expect(await warningsOf(url)).to.deep.equal([
      `warning: worker ${host}: wal_level is replica, so its shards cannot be moved while ` +
        'daemons send: set it to logical, and restart the worker',
    ])
    await worker?.restart()
    expect(await warningsOf(url)).to.deep.equal([])
  })

  it('is which worker is away, and for whom that matters', async () => {
    const { url } = await newDatabase(citus())
    await migrate(url)
    const away = citus().workers[0]
    const { host } = new URL(away?.url() ?? '')
    await away?.kill()
    expect(await warningsOf(url)).to.deep.equal([
      `warning: worker ${host}: it cannot be used, and what its users send is refused until it ` +
        `can (connect ECONNREFUSED ${host})`,
    ])
    await away?.restart()
  })

  it('is how many shards each worker has, and which one has none', async () => {
    const url = await citus().createGrowing('growing')
    await migrate(url)
    const { host } = new URL((await citus().addWorker('growing')).url())
    expect(await warningsOf(url)).to.deep.equal([
      `warning: worker ${host}: it has no shards: ` +
        '`SELECT citus_rebalance_start()` moves some to it',
    ])
    const { stdout } = await check(url)
    const shards = [...stdout.matchAll(/^worker \S+: (\d+) shards$/gm)].map(([, count]) => count)
    expect(shards).to.deep.equal(['8', '8', '0'])
  })
})
