// Node for a kind of machine: the package that `npm ci` brought for this one, or from the registry.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockedNode, readInstalled } from './lock.ts'
import type { Machine } from './program.ts'
import { CHECKOUT } from './release.ts'

/**
 * @param temporary an existing folder
 * @returns the folder of the package; `undefined` if there is none here and npm could not get it
 * @throws Error if what is here, or what npm got, is not what package-lock.json says
 */
export function fetchNode(machine: Machine, temporary: string): string | undefined {
  const locked = lockedNode(machine)
  const { path, name, version, integrity } = locked
  const brought = join(CHECKOUT, path)
  if (existsSync(join(brought, 'bin/node'))) {
    readInstalled(locked)
    return brought
  }
  const archive = download(`${name}@${version}`, temporary)
  if (archive === undefined) return undefined
  const [algorithm = '', expected] = integrity.split('-', 2)
  if (createHash(algorithm).update(readFileSync(archive)).digest('base64') !== expected) {
    throw new Error(`${name}@${version} is not what package-lock.json says (${integrity})`)
  }
  const unpacked = join(temporary, name)
  mkdirSync(unpacked)
  execFileSync('tar', ['-xzf', archive, '--strip-components=1', '-C', unpacked])
  return unpacked
}

function download(what: string, folder: string): string | undefined {
  const args = ['pack', what, '--silent', '--fetch-retries=1', '--pack-destination', folder]
  try {
    const name = execFileSync('npm', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return join(folder, name.trim())
  } catch {
    return undefined
  }
}
