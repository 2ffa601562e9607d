// Opens control.db for its writer, with what every thread expects in it: its tables, and the secret
// that each thread reads for itself.

import { join } from 'node:path'
import { CONTROL_FILE, damagedFile, openForWriting, orDamaged } from '../database.ts'
import type { Connection } from '../database.ts'
import { makeEventSecret } from '../event-key.ts'
import { CONTROL_MIGRATIONS } from './schema.ts'

export function openControl(dataDir: string): Connection {
  const control = openForWriting(join(dataDir, CONTROL_FILE), CONTROL_MIGRATIONS)
  orDamaged(damagedFile(CONTROL_FILE), () => makeEventSecret(control))
  return control
}
