// What is kept besides measurements, by the operations of an operator.

import { loadConfig } from '../../src/config.ts'
import { openOperations } from '../../src/data-dir/operations.ts'

/** What commands say of all but measurements. */
export async function listAll(
  where: Readonly<Record<string, string>>,
  addresses: readonly string[],
): Promise<unknown[]> {
  const { operations, close } = await openOperations(loadConfig(where))
  const users = addresses.map((user) => ({ user }))
  const said = [
    await operations.listUsers({}),
    await Promise.all(users.map((user) => operations.listTokens(user))),
    await Promise.all(users.map((user) => operations.listSensors(user))),
    await operations.listRefused({}),
    await operations.listSkipped({}),
  ]
  await close()
  const isKept = (key: string) => key !== 'dataVersion'
  const kept = JSON.stringify(said, (key, value: unknown) => (isKept(key) ? value : undefined))
  return JSON.parse(kept) as unknown[]
}
