// The next version of Thermolog, as a copy of this one with another number and formats that have
// changed: each file of DATA_DIR gets one more table.

import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { Environment } from './command.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const COPIED = ['package.json', 'schemas', 'src']
const SCHEMAS = ['control', 'ledger', 'measurements'].map((room) => `src/sqlite/${room}/schema`)
/** The number of the last format, and what follows up to the end of the list. */
const LAST_FORMAT = /(?<=^ {2,4}(?:\{ )?version: )(\d+),[^]*?(?=^\]$)/m

export const NEXT = '99.0.0'

export interface NextVersion {
  /** For commands that are its own. */
  readonly environment: Environment
  remove(): Promise<void>
}

export async function makeNextVersion(): Promise<NextVersion> {
  const folder = await mkdtemp(join(tmpdir(), 'thermolog-next-'))
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  becomeNext(folder)
  return {
    environment: {
      PROGRAM: join(folder, 'src/thermolog.js'),
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
    },
    remove: () => rm(folder, { recursive: true }),
  }
}

/** @param folder a copy of a checkout or, where files are `.js`, of what is installed */
export function becomeNext(folder: string, ending = 'ts'): void {
  edit(join(folder, 'package.json'), /"version": "[^"]+"/, () => `"version": "${NEXT}"`)
  for (const name of SCHEMAS) {
    edit(join(folder, `${name}.${ending}`), LAST_FORMAT, (last, version) => {
      const sql = 'CREATE TABLE of_next_version (id INTEGER PRIMARY KEY) STRICT'
      return `${last}  { version: ${Number(version) + 1}, sql: '${sql}' },\n`
    })
  }
}

function edit(file: string, found: RegExp, replace: (...found: string[]) => string): void {
  const text = readFileSync(file, 'utf8')
  const edited = text.replace(found, replace)
  expect(edited, file).not.to.equal(text)
  writeFileSync(file, edited)
}
