// Goal: what is said of batches with faults ends nobody. Method: the batches of several users, each
// with thousands of faults, of which the last bytes come at once; with what the ledger has to be
// asked for, and with elements to keep before the answer.

import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { headOf } from '../support/raw-connection.ts'

const USERS = 4
const CONNECTIONS_OF_USER = 95
const FAULTY = '{"a":1,"b":1,"c":1,"d":1,"e":1}'
const GOOD = '{"event_id":"good","sn":"good","temp":1}'
const BODY = `{"measurements":[${`${FAULTY},`.repeat(499)}${GOOD}]}`
const BATCH = '/api/v1/measurements/batch'

describe('batches with thousands of faults, of several users at once', () => {
  let dataDir: string
  let service: RunningService
  const tokens: string[] = []

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-faulty-'))
    for (let user = 0; user < USERS; user++) {
      tokens.push(await createFleetToken(dataDir, `user-${user}@example.org`))
    }
    service = await serve(dataDir, { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0' })
  })

  after(async () => {
    await service.stop()
    await rm(dataDir, { recursive: true })
  })

  for (const [path, status] of [
    [BATCH, 422],
    [`${BATCH}?on_invalid=skip`, 20],
  ] as const) {
    it(`are all answered, and the service goes on: ${path}`, async () => {
      const sockets = tokens.flatMap((token) =>
        Array.from({ length: CONNECTIONS_OF_USER }, () => begin(path, token)),
      )
      await Promise.all(sockets.map((socket) => new Promise((done) => socket.write('', done))))
      const answers = sockets.map((socket) => text(socket))
      for (const socket of sockets) socket.write(BODY.slice(-1))
      const heads = (await Promise.all(answers)).map((answer) => answer.slice(0, 12))
      for (const head of heads) expect(head).to.match(new RegExp(`^HTTP/1.1 (${status}|503)`))
      expect(service.child.exitCode).to.equal(null)
    })
  }

  /** All but the last byte. */
  function begin(path: string, token: string): Socket {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    const head = headOf(['POST', path], {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Content-Length': BODY.length,
      Connection: 'close',
    })
    socket.write(head + BODY.slice(0, -1))
    return socket
  }
})
