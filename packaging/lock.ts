// What package-lock.json says of the packages that are needed at run time.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from './release.ts'

export interface LockedPackage {
  /** `node_modules/koa` */
  readonly path: string
  /** As the registry calls it. */
  readonly name: string
  readonly version: string
  /** `sha512-…` in base64 */
  readonly integrity: string
  readonly license: string | undefined
}

interface LockEntry {
  readonly name?: string
  readonly version: string
  readonly integrity: string
  readonly license?: string
  readonly dev?: boolean
  readonly optional?: boolean
}

/** All that is bundled, by path. */
export function lockedPackages(): LockedPackage[] {
  return entries()
    .filter(([path, { dev, optional }]) => path !== '' && dev !== true && optional !== true)
    .map(toPackage)
}

/** The Node for a kind of machine. */
export function lockedNode(machine: string): LockedPackage {
  const found = entries().find(([path]) => path === `node_modules/node-linux-${machine}`)
  if (found === undefined) throw new Error(`package-lock.json has no Node for ${machine}`)
  return toPackage(found)
}

/**
 * @returns the package.json of what `npm ci` has brought
 * @throws Error if it is missing, or of another version
 */
export function readInstalled({ path, version }: LockedPackage): object {
  const file = join(CHECKOUT, path, 'package.json')
  const found = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string })
    : undefined
  if (found?.version === version) return found
  const is = found?.version ?? 'missing'
  throw new Error(`${path} is ${is}, package-lock.json says ${version}: run \`npm ci\` first`)
}

function toPackage([path, entry]: readonly [string, LockEntry]): LockedPackage {
  const { version, integrity, license, name = path.replace(/^.*node_modules\//, '') } = entry
  return { path, name, version, integrity, license }
}

function entries(): [string, LockEntry][] {
  const text = readFileSync(join(CHECKOUT, 'package-lock.json'), 'utf8')
  return Object.entries((JSON.parse(text) as { packages: Record<string, LockEntry> }).packages)
}
