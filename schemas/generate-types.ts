// Writes schemas/messages.d.ts: the TypeScript types of every message, made from the schemas
// beside this file. Run by `npm run generate`; a test compares the file with what this would write.

import { readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { compile } from 'json-schema-to-typescript'
import { format } from 'prettier'

const SCHEMAS = fileURLToPath(new URL('.', import.meta.url))
const TARGET = fileURLToPath(new URL('./messages.d.ts', import.meta.url))

const HEADER = `// The messages of the API as types. Written by \`npm run generate\` from schemas/.

`

const LINE_CHARACTERS_MAX = 100

/** @returns the text of schemas/messages.d.ts as it should be */
export async function generateWireTypes(): Promise<string> {
  const refs = ['request', 'response'].flatMap((folder) =>
    readdirSync(SCHEMAS + folder)
      .toSorted()
      .map((file) => ({ $ref: `${folder}/${file}` })),
  )
  // One root that names all messages lets them share the types of common.json.
  const types = await compile({ title: 'AnyMessage', anyOf: refs }, 'AnyMessage', {
    cwd: SCHEMAS,
    bannerComment: '',
    format: false,
    ignoreMinAndMaxItems: true,
  })
  const style = { semi: false, singleQuote: true, printWidth: 100, trailingComma: 'all' } as const
  const formatted = await format(types, { parser: 'typescript', ...style })
  const messages = formatted.slice(formatted.indexOf('/**'))
  return HEADER + messages.split('\n').map(wrapComment).join('\n')
}

function wrapComment(line: string): string {
  const start = /^ *\* /.exec(line)?.[0]
  if (start === undefined || line.length <= LINE_CHARACTERS_MAX) return line
  const breakAt = line.lastIndexOf(' ', LINE_CHARACTERS_MAX)
  return `${line.slice(0, breakAt)}\n${wrapComment(start + line.slice(breakAt + 1))}`
}

if (import.meta.main) writeFileSync(TARGET, await generateWireTypes())
