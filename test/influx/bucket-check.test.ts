import { expect } from 'chai'
import { checkInfluxBucket } from '../../src/influx/bucket-check.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import { connect, newBucket, newToken, useInflux } from '../support/influx.ts'

describe('checkInfluxBucket', () => {
  const influx = useInflux()
  let target: Awaited<ReturnType<typeof newBucket>>
  beforeEach(async () => {
    target = await newBucket(influx())
  })

  const check = (changes: Partial<typeof target>, timeoutMs = 10_000) =>
    checkInfluxBucket(connect({ ...target, ...changes }, { timeoutMs }))

  const expectFault = async (
    changes: Partial<typeof target>,
    problem: RegExp,
    remedy: RegExp,
    kind = 'fault',
  ) => {
    const state = await check(changes)
    expect(state.kind).to.equal(kind)
    if (!('problem' in state)) throw new Error('no fault is found')
    expect(state.problem).to.match(problem)
    expect(state.remedy).to.match(remedy)
  }

  it('finds everything ready with a token of just the rights it takes', async () => {
    const influxToken = await newToken(influx(), target, ['read', 'write'])
    expect(await check({ influxToken })).to.deep.equal({ kind: 'ready' })
  })

  it('makes the bucket that is not there, with shards of 30 days and no end', async () => {
    const influxBucket = `${target.influxBucket}-new`
    expect(await check({ influxBucket })).to.deep.equal({ kind: 'created' })
    expect(await check({ influxBucket })).to.deep.equal({ kind: 'ready' })
    const query = new URLSearchParams({ name: influxBucket, org: target.organization })
    const path = `/api/v2/buckets?${query.toString()}`
    const { body } = await connect(target).exchange({ method: 'GET', path })
    expect(body).to.match(/"shardGroupDurationSeconds": 2592000/)
    expect(body).to.match(/"everySeconds": 0,/)
  })

  it('says how to make the bucket when the token may not', async () => {
    const influxToken = await newToken(influx(), target, ['read', 'write'])
    const changes = { influxToken, influxBucket: 'not there' }
    await expectFault(changes, /INFLUX_BUCKET/, /influx bucket create .*--name 'not there'/)
  })

  it('refuses a bucket that expires data', async () => {
    const { influxBucket } = await newBucket(influx(), { expireSeconds: 86_400 })
    const remedy = /influx bucket update .*retention 0/
    await expectFault({ influxBucket }, /after 86400 seconds/, remedy, 'expires')
  })

  it('explains a token that is not accepted', () =>
    expectFault({ influxToken: 'wrong' }, /does not accept INFLUX_TOKEN/, /set INFLUX_TOKEN/))

  it('explains a token that may only read, or only write', async () => {
    const readOnly = await newToken(influx(), target, ['read'])
    await expectFault({ influxToken: readOnly }, /may not write/, /read and write/)
    const writeOnly = await newToken(influx(), target, ['write'])
    await expectFault({ influxToken: writeOnly }, /may not read/, /read and write/)
  })

  it('explains an organization that is not there', () =>
    expectFault({ organization: 'nobody' }, /INFLUX_ORG/, /influx org list/))

  it('explains an address of something else', async () => {
    const proxy = await FaultProxy.start(target.url)
    const { url } = proxy
    for (const status of [200, 302, 400, 404]) {
      proxy.use({ kind: 'answer', status, body: '<html>hello</html>' })
      await expectFault({ url }, /INFLUX_URL is no InfluxDB 2/, /set INFLUX_URL/)
    }
    await proxy.close()
  })

  it('does not take silence or trouble for a fault of the settings', async () => {
    expect(await check({ url: 'http://127.0.0.1:9' })).to.have.property('kind', 'unreachable')
    const proxy = await FaultProxy.start(target.url)
    const { url } = proxy
    proxy.use({ kind: 'answer', status: 503 })
    expect(await check({ url })).to.have.property('kind', 'unreachable')
    proxy.use({ kind: 'pause' })
    expect(await check({ url }, 300)).to.have.property('kind', 'unreachable')
    await proxy.close()
  })
})
