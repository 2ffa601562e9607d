// Runs before everything else in docker-compose.replicas.yml: makes the passwords of
// PostgreSQL and Grafana, once, and the settings of the service. No secret is in the repository.

import { parseArgs } from 'node:util'
import { SecretFiles } from './secret-files.ts'

const NAME = 'thermolog'

const option = { type: 'string', default: '' } as const
const { values } = parseArgs({ options: { host: option, directory: option } })
const secrets = new SecretFiles(values.directory)
const password = await secrets.readOrMake('postgres/password')
// Its letters need no escape in a URL.
const url = `postgresql://${NAME}:${password}@${values.host}:5432/${NAME}`
await secrets.readOrMake('grafana/admin-password')
// Opens nothing until `grafana-token.ts` puts a token there: Grafana does not start without.
await secrets.readOrMake('grafana/thermolog-token')
await secrets.write('thermolog/.env', `DATABASE_URL=${url}\n`)
