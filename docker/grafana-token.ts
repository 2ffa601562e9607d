// Gives Grafana a token that reads the sensors of a user, in both compose files:
//
//   docker compose run --rm grafana-token EMAIL
//   docker compose restart grafana
//
// The token goes from the service's command into Grafana's volume, and is printed nowhere.

import { execFile } from 'node:child_process'
import { parseArgs, promisify } from 'node:util'
import { SecretFiles } from './secret-files.ts'

const THERMOLOG = new URL('../src/thermolog.js', import.meta.url).pathname

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { directory: { type: 'string', default: '' } },
    allowPositionals: true,
  })
  const [user] = positionals
  if (user === undefined) throw new Error('say whose sensors: grafana-token EMAIL')
  const order = ['token', 'create', '--user', user, '--name', 'Grafana', '--scope', 'sensors:read']
  const { stdout } = await promisify(execFile)(process.execPath, [THERMOLOG, ...order])
  await new SecretFiles(values.directory).write('grafana/thermolog-token', stdout.trim())
  process.stdout.write('Grafana has a token: `docker compose restart grafana` lets it use this\n')
}

try {
  await main()
} catch (error) {
  const { stderr, message } = error as Error & { readonly stderr?: string }
  process.stderr.write(`grafana-token: ${stderr?.trim() || message}\n`)
  process.exitCode = 1
}
