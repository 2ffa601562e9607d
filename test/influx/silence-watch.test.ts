// Goal: an InfluxDB that answers nothing keeps one question waiting, and none after it until it
// answers again. Method: a server that takes requests and answers them when it is told.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { InfluxMeasurementReader } from '../../src/influx/measurement-reader.ts'
import { connect } from '../support/influx.ts'
import { collect } from '../support/measurements.ts'
import { until } from '../support/until.ts'

const RANGE = { sensorIds: [1], startMs: 0, stopMs: 1_000 }
const PING = '/ping'

describe('an InfluxDB that answers nothing', () => {
  let server: Server
  let reader: InfluxMeasurementReader
  /** What is answered at once; the rest waits. */
  let isAnswered = (_path: string) => false
  let paths: string[]
  let waiting: ServerResponse[]
  beforeEach(async () => {
    isAnswered = () => false
    paths = []
    waiting = []
    server = createServer(({ url = '' }, response) => {
      paths.push(url.split('?')[0] ?? '')
      if (isAnswered(url)) response.end()
      else waiting.push(response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const target = { url, organization: 'o', influxBucket: 'b', influxToken: 't' }
    reader = new InfluxMeasurementReader(connect(target, { timeoutMs: 200 }))
  })
  afterEach(async () => {
    await reader.close()
    server.closeAllConnections()
    server.close()
  })

  const outcomeOf = async () => {
    const [outcome] = await Promise.allSettled([collect(reader.readRaw(RANGE))])
    return outcome.status === 'fulfilled' ? 'answered' : outcome.reason.code
  }
  const queries = () => paths.filter((path) => path !== PING).length

  it('is asked nothing more until it answers a ping, whatever it says', async () => {
    expect(await outcomeOf()).to.equal('history_unavailable')
    for (let question = 0; question < 3; question++) {
      expect(await outcomeOf()).to.equal('history_unavailable')
    }
    const [failure] = await Promise.allSettled([reader.refuseIfSilent()])
    expect(failure).to.have.nested.property('reason.retryAfterSeconds', 5)
    expect(queries()).to.equal(1)
    isAnswered = () => true
    for (const response of waiting) response.writeHead(503).end()
    await until('it is asked again', async () => (await outcomeOf()) === 'answered')
    expect(queries()).to.equal(2)
  })

  it('keeps no question out where only another took too long', async () => {
    isAnswered = (path) => path === PING
    expect(await outcomeOf()).to.equal('history_unavailable')
    isAnswered = () => true
    expect(await outcomeOf()).to.equal('answered')
    expect(paths).to.deep.equal(['/api/v2/query', PING, '/api/v2/query'])
  })

  it('is pinged no more when nobody reads any more', async () => {
    expect(await outcomeOf()).to.equal('history_unavailable')
    await until('it is pinged', () => paths.includes(PING))
    await reader.close()
    expect(await outcomeOf()).to.equal('history_unavailable')
    expect(paths).to.deep.equal(['/api/v2/query', PING])
  })
})
