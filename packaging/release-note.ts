// The release note of a version: what CHANGELOG.md says of it.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from './release.ts'

/** @throws Error if CHANGELOG.md has no section with its number */
export function releaseNote(version: string): string {
  const sections = readFileSync(join(CHECKOUT, 'CHANGELOG.md'), 'utf8').split(/^## /m)
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version)
  if (section === undefined) {
    throw new Error(
      `CHANGELOG.md has no section ## ${version}: say there what changes for operators and clients`,
    )
  }
  return `# Thermolog ${section.trim()}\n`
}
