// What `--version` says.

import { fileURLToPath } from 'node:url'
import manifest from '../../package.json' with { type: 'json' }
import { describeCommit } from './git-commit.ts'

const PROGRAM = fileURLToPath(new URL('../../', import.meta.url))

/** `1.2.3 (411ceda01234)`; the commit is in the manifest of an artefact, and in a Git checkout. */
export function versionText(): string {
  const { version, commit = describeCommit(PROGRAM) }: { version: string; commit?: string } =
    manifest
  return commit === undefined ? version : `${version} (${commit})`
}
