// A user with a daemon token, made as the commands make them but in this process: by the running
// service, or, when none runs, with DATA_DIR open for that long.

import { connectOperations } from '../../src/socket/client.ts'
import { openOperations } from '../../src/data-dir/operations.ts'
import { loadConfig } from '../../src/config.ts'
import { operationsSocketPath } from '../../src/socket/path.ts'
import type { Environment } from './command.ts'
import { startInline } from './inline-threads.ts'

/** @returns the token */
export async function createFleetToken(
  dataDir: string,
  user: string,
  settings: Environment = {},
): Promise<string> {
  const config = loadConfig({ ...settings, DATA_DIR: dataDir })
  const client = await connectOperations(operationsSocketPath(config.dataDir))
  const { operations, close } =
    client ?? (await openOperations(config, { startThread: startInline }))
  try {
    await operations.run('user create', { email: user })
    return (await operations.run('token create', { user, name: 'gateway' })).token
  } finally {
    await close()
  }
}
