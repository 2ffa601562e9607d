// Writes the table of settings in docs/operations.md as src/config-table.ts has them. Run by
// `npm run generate`; a test compares the document with what this would write.

import { readFileSync, writeFileSync } from 'node:fs'
import { format } from 'prettier'
import { allSettings } from '../src/config-table.ts'

const DOCUMENT = new URL('../docs/operations.md', import.meta.url)
const TABLE = /(?<=\n## Settings\n[^|]*)\|[^]*?\n(?=\n)/

/** @returns the document with the table as it should be */
export async function withSettings(document: string): Promise<string> {
  const rows = allSettings().map(([name, { form }, byDefault, help]) => {
    const words = typeof byDefault === 'string' ? byDefault && `\`${byDefault}\`` : byDefault?.words
    return [`\`${name}\``, words || 'none', form, help]
  })
  const head = [['setting', 'default', 'must be', 'effect'], Array<string>(4).fill('-')]
  const lines = [...head, ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  const table = await format(lines.join('\n'), { parser: 'markdown' })
  return document.replace(TABLE, () => table)
}

if (import.meta.main) {
  writeFileSync(DOCUMENT, await withSettings(readFileSync(DOCUMENT, 'utf8')))
}
