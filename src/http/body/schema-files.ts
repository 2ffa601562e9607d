// The files in schemas/, read once, by their path in it, such as `request/measurement.json`.

import { readdirSync, readFileSync } from 'node:fs'

export interface SchemaFile {
  readonly title: string
  readonly $defs?: Readonly<Record<string, JsonObject>>
  readonly properties?: Readonly<Record<string, JsonObject>>
  readonly [member: string]: unknown
}

export type JsonObject = Readonly<Record<string, unknown>>

const FOLDER = new URL('../../../schemas/', import.meta.url)

export const SCHEMA_FILES: ReadonlyMap<string, SchemaFile> = new Map(
  ['common.json', ...namesIn('request'), ...namesIn('response')].map((name) => [name, read(name)]),
)

function namesIn(folder: string): string[] {
  return readdirSync(new URL(folder, FOLDER))
    .toSorted()
    .map((name) => `${folder}/${name}`)
}

function read(name: string): SchemaFile {
  return JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as SchemaFile
}
