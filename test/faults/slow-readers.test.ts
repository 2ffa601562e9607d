// Goal: clients that ask for long histories and do not read them neither end the service nor keep
// others from theirs. Method: hundreds of connections of one user, while another one reads.

import { expect } from 'chai'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { MINUTE_MS, SECOND_MS } from '../../src/domain/time.ts'
import { runCommand, serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { send } from '../support/http.ts'
import { within } from '../support/until.ts'

const CONNECTIONS = 500
const MEASUREMENTS = 400_000
const RAW = '/api/v1/sensors/1/measurements?bucket=raw&from='

describe(`${CONNECTIONS} clients that do not read their long histories`, function () {
  this.timeout(3 * MINUTE_MS)
  let dataDir: string
  let service: RunningService
  let slow: string
  let other: string
  const sockets: Socket[] = []

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-slow-'))
    slow = await createFleetToken(dataDir, 'slow@example.org')
    other = await createFleetToken(dataDir, 'other@example.org')
    service = await serve(dataDir, { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0' })
    const file = join(dataDir, 'long.csv')
    const startMs = Date.now() - MEASUREMENTS * SECOND_MS
    const lines = Array.from({ length: MEASUREMENTS }, (_, at) => {
      return `${new Date(startMs + at * SECOND_MS).toISOString()},long,${20 + (at % 7)}\n`
    })
    await writeFile(file, `timestamp,sn,temp\n${lines.join('')}`)
    await runCommand(dataDir, ['import', file, '--user', 'slow@example.org'])
  })

  after(async () => {
    for (const socket of sockets) socket.destroy()
    await service.stop()
    await rm(dataDir, { recursive: true })
  })

  const askAndNotRead = () => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    sockets.push(socket.on('error', () => undefined).pause())
    const path = `${RAW}${new Date(Date.now() - MEASUREMENTS * SECOND_MS).toISOString()}`
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${slow}\r\n\r\n`)
  }

  it('keep nobody else waiting, and the service goes on', async () => {
    for (let count = 0; count < CONNECTIONS; count++) askAndNotRead()
    await send(service.url, {
      method: 'POST',
      path: '/api/v1/measurements',
      token: other,
      body: { event_id: 'one', sn: 'other', temp: 1 },
    })
    for (let second = 0; second < 10; second++) {
      const path = '/api/v1/measurements?sensors=2'
      const answer = send(service.url, { path, token: other })
      const { status, body } = await within('the history of another user', answer)
      expect(status).to.equal(200)
      expect(body.data.series[0].points).to.have.lengthOf(1)
      await setTimeout(SECOND_MS)
    }
    expect(service.child.exitCode).to.equal(null)
  })
})
