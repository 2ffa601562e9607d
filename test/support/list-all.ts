// What is kept besides measurements, by the operations of an operator.

import { loadConfig } from '../../src/config.ts'
import { openOperations } from '../../src/data-dir/operations.ts'
import { startInline } from './inline-threads.ts'

/** What commands say of all but measurements. */
export async function listAll(
  where: Readonly<Record<string, string>>,
  addresses: readonly string[],
): Promise<unknown[]> {
  const { operations, close } = await openOperations(loadConfig(where), {
    startThread: startInline,
  })
  const users = addresses.map((user) => ({ user }))
  const said = [
    await operations.run('user list', {}),
    await Promise.all(users.map((user) => operations.run('token list', user))),
    await Promise.all(users.map((user) => operations.run('sensor list', user))),
    await operations.run('refused list', {}),
    await operations.run('refused list', { skipped: true }),
  ]
  await close()
  const isKept = (key: string) => key !== 'dataVersion'
  const kept = JSON.stringify(said, (key, value: unknown) => (isKept(key) ? value : undefined))
  return JSON.parse(kept) as unknown[]
}
