// Has a running service carry out operations, over the socket in its DATA_DIR.

import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { OperationError } from '../operations/operations.ts'
import type { Failure, Operations } from '../operations/operations.ts'

export interface OperationsClient {
  readonly operations: Operations
  close(): Promise<void>
}

/**
 * @param socketPath see `operationsSocketPath`
 * @returns `undefined` when no service is listening
 * @throws OperationError when the socket belongs to someone else
 */
export async function connectOperations(socketPath: string): Promise<OperationsClient | undefined> {
  if (!(await isListening(socketPath))) return undefined
  const call =
    <Answer>(name: keyof Operations) =>
    (args: object): Promise<Answer> =>
      post<Answer>({ socketPath, path: `/operations/${name}` }, args)
  const operations: Operations = {
    createUser: call('createUser'),
    listUsers: call('listUsers'),
    renameUser: call('renameUser'),
    previewUserDeletion: call('previewUserDeletion'),
    deleteUser: call('deleteUser'),
    unlinkIdentity: call('unlinkIdentity'),
    createLink: call('createLink'),
    createToken: call('createToken'),
    listTokens: call('listTokens'),
    revokeToken: call('revokeToken'),
    rotateToken: call('rotateToken'),
    createSensor: call('createSensor'),
    listSensors: call('listSensors'),
    changeSensor: call('changeSensor'),
    previewSensorDeletion: call('previewSensorDeletion'),
    deleteSensor: call('deleteSensor'),
    listSetAside: call('listSetAside'),
    retrySetAside: call('retrySetAside'),
    previewDrop: call('previewDrop'),
    dropSetAside: call('dropSetAside'),
    listRefused: call('listRefused'),
    listSkipped: call('listSkipped'),
    retryRefused: call('retryRefused'),
    previewRefusedDrop: call('previewRefusedDrop'),
    dropRefused: call('dropRefused'),
    importRules: call('importRules'),
    importMeasurements: call('importMeasurements'),
  }
  return { operations, close: async () => {} }
}

function isListening(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(false)
      else reject(unreachable(socketPath, error))
    })
  })
}

function unreachable(socketPath: string, cause: Error): OperationError {
  const message = `cannot reach the service at ${socketPath}: ${cause.message}`
  const hint = 'Run the command as the user that the service runs as.'
  return new OperationError({ kind: 'failed', message, hint }, { cause })
}

interface Target {
  readonly socketPath: string
  readonly path: string
}

async function post<Answer>(target: Target, args: object): Promise<Answer> {
  const answer = JSON.parse(await exchange(target, JSON.stringify(args))) as
    { readonly data: Answer; readonly failure?: undefined } | { readonly failure: Failure }
  if (answer.failure !== undefined) throw new OperationError(answer.failure)
  return answer.data
}

function exchange(target: Target, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    // One connection a call: the service may close an idle one just when the next call is sent.
    const sent = request({ ...target, agent: false, method: 'POST', headers }, (response) => {
      text(response).then(resolve, (error: Error) => reject(lost(error)))
    })
    sent.once('error', (error) => reject(lost(error)))
    sent.end(body)
  })
}

function lost(cause: Error): OperationError {
  const message = `the service went away: ${cause.message}`
  const hint = 'It is not known whether the operation was carried out: look, then repeat it.'
  return new OperationError({ kind: 'failed', message, hint }, { cause })
}
