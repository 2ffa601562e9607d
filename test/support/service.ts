// The whole service on a temporary directory and a free port. Users and tokens are made as an
// operator makes them: over the service's own socket, or on its database.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectOperations } from '../../src/socket/client.ts'
import { createService } from '../../src/compose.ts'
import { openOperations } from '../../src/data-dir/operations.ts'
import { loadConfig } from '../../src/config.ts'
import type { Environment } from '../../src/config-settings.ts'
import type { GivenOf, Operations, ResultOf } from '../../src/commands/operations.ts'
import { operationsSocketPath } from '../../src/socket/path.ts'
import { FakeClock } from './clock.ts'
import { closeKept } from './http.ts'
import { startInline } from './inline-threads.ts'
import { RecordingLog } from './log.ts'

type TokenOrder = Omit<GivenOf<'token create'>, 'user'>

export interface TestService {
  readonly url: string
  readonly dataDir: string
  readonly clock: FakeClock
  readonly log: RecordingLog
  readonly operations: Operations
  /** A daemon token of a user, who is made when there is none of that address yet. */
  createToken(user: string, order?: TokenOrder): Promise<string>
  createTokenWithId(user: string, order?: TokenOrder): Promise<ResultOf<'token create'>>
  stop(): Promise<void>
}

/**
 * @param settings of the environment, over those of a test
 * @param startThread `startWorker` where the story is of threads
 */
export async function startService(
  settings: Environment = {},
  startThread = startInline,
): Promise<TestService> {
  const dataDir = settings['DATA_DIR'] ?? (await mkdtemp(join(tmpdir(), 'thermolog-')))
  const clock = new FakeClock()
  const log = new RecordingLog()
  const config = loadConfig({ PORT: '0', DATA_DIR: dataDir, ...settings })
  const service = await createService(config, { clock, log, startThread })
  const { url } = await service.start()
  const client =
    settings['DATABASE_URL'] === undefined
      ? await connectOperations(operationsSocketPath(dataDir))
      : await openOperations(config)
  if (client === undefined) throw new Error('the service has no socket')
  const { operations } = client
  const ensureUser = async (email: string) => {
    const users = await operations.run('user list', {})
    if (!users.some((user) => user.email === email)) await operations.run('user create', { email })
  }
  return {
    url,
    dataDir,
    clock,
    log,
    operations,
    createToken: async (user, order = {}) => {
      await ensureUser(user)
      return (await operations.run('token create', { user, name: 'gateway', ...order })).token
    },
    createTokenWithId: async (user, order = {}) => {
      await ensureUser(user)
      return operations.run('token create', { name: 'gateway', ...order, user })
    },
    stop: async () => {
      closeKept()
      await client.close()
      await service.stop()
      await rm(dataDir, { recursive: true })
    },
  }
}
