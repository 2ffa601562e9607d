// Goal: what the command line asks of a running service arrives, and what comes back is the answer
// or the failure as it was. Method: the real client on a real socket; operations that only record.

import { expect } from 'chai'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectOperations } from '../../src/socket/client.ts'
import { ServiceError } from '../../src/domain/errors.ts'
import type { RequestFault } from '../../src/domain/errors.ts'
import { OperationsSocket } from '../../src/socket/server.ts'
import { OperationError } from '../../src/operations/failure.ts'
import type { Operations } from '../../src/commands/operations.ts'
import type { Log } from '../../src/ports/system.ts'

const logged: string[] = []
const keep = (message: string) => void logged.push(message)
const log: Log = { debug: keep, info: keep, warn: keep, error: keep }
const fault: RequestFault = {
  pointer: '/measurements/3/temp',
  code: 'maximum',
  detail: 'too hot',
  index: 3,
}

const absent = () => Promise.reject(new Error('not part of this'))

const failures: Readonly<Record<string, Error>> = {
  'token create': new ServiceError('overloaded', { retryAfterSeconds: 3 }),
  'token list': new OperationError({ kind: 'usage', message: 'm', hint: 'h' }),
  'token revoke': new Error('secret of the inside'),
}

const operations = {
  run: async (path: string, given: object) => {
    if (failures[path] !== undefined) throw failures[path]
    return { path, given }
  },
  preview: absent,
  importRules: () => Promise.reject(new ServiceError('validation_failed', { faults: [fault] })),
  listMeasuredPeriods: absent,
  importMeasurements: async ({ measurements }) => ({
    created: measurements.length,
    duplicates: 0,
    conflicts: [],
    deleted: [],
  }),
} as Operations

describe('OperationsSocket', () => {
  let folder = ''
  let path = ''
  let socket = new OperationsSocket({ operations, log })
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-'))
    path = join(folder, 'thermolog.sock')
    // As a killed service leaves one behind.
    await writeFile(path, '')
    socket = new OperationsSocket({ operations, log })
    await socket.start(path)
  })
  afterEach(async () => {
    await socket.stop()
    await rm(folder, { recursive: true })
  })

  async function connected() {
    const client = await connectOperations(path)
    if (client === undefined) throw new Error('nobody is listening')
    return client
  }

  async function failureOf(call: (operations: Operations) => Promise<unknown>) {
    const client = await connected()
    const failure = await call(client.operations).then(
      () => undefined,
      (error: OperationError) => error.failure,
    )
    await client.close()
    return failure
  }

  it('can be opened by its owner alone', async () => {
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
  })

  it('carries arguments and answers', async () => {
    const client = await connected()
    const ran: unknown = await client.operations.run('user create', { email: 'ä@example.org' })
    expect(ran).to.deep.equal({ path: 'user create', given: { email: 'ä@example.org' } })
    const measurement = { eventId: 'e', serialNumber: 's', tempCelsius: 1, measuredAtMs: 2 }
    const measurements = Array.from({ length: 4_000 }, () => measurement)
    const equalsBefore = measurements.map(() => 0)
    const order = { user: 'a', measurements, equalsBefore, isInOrder: true }
    const receipt = await client.operations.importMeasurements(order)
    expect(receipt).to.deep.equal({ created: 4_000, duplicates: 0, conflicts: [], deleted: [] })
    await client.close()
  })

  it('carries failures with all that is said about them', async () => {
    expect(await failureOf((from) => from.run('token list', { user: 'a' }))).to.deep.equal({
      kind: 'usage',
      message: 'm',
      hint: 'h',
    })
    expect(await failureOf((from) => from.run('token create', {}))).to.deep.equal({
      kind: 'failed',
      message: 'overloaded',
      retryAfterSeconds: 3,
    })
    expect(await failureOf((from) => from.importRules('a'))).to.deep.equal({
      kind: 'failed',
      message: 'validation failed',
      faults: [fault],
    })
  })

  it('tells its log, not the caller, about a fault of ours', async () => {
    const failure = await failureOf((from) => from.run('token revoke', { id: '1' }))
    expect(failure?.message).to.equal('run token revoke failed inside the service')
    expect(logged).to.include('operation failed')
  })

  it('answers an operation it does not know, and what is no operation', async () => {
    for (const [method, url] of [
      ['POST', '/operations/toString'],
      ['GET', '/operations/run'],
      ['POST', '/'],
    ] as const) {
      expect(await statusOf(method, url)).to.equal(404)
    }
  })

  function statusOf(method: string, url: string): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath: path, method, path: url }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      sent.once('error', reject).end()
    })
  }

  it('is found missing after the service has stopped', async () => {
    await socket.stop()
    expect(await connectOperations(path)).to.equal(undefined)
  })
})
