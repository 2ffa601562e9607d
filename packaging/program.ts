// The program as it is installed: JavaScript, schemas, documents, run-time dependencies, and where
// it is for one kind of machine, Node.

import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { lockedPackages, readInstalled } from './lock.ts'
import type { LockedPackage } from './lock.ts'
import { CHECKOUT } from './release.ts'
import type { Release } from './release.ts'
import { pointToJavaScript, stripTypes } from './strip-types.ts'

/** Kinds of machines, by Node's names for them. */
export type Machine = 'x64' | 'arm64'

/** More would be more than people want to fetch: others who use npm have Node. */
export const NODE_OF_NPM: Machine = 'x64'

// prettier-ignore
const TAKEN_AS_IS = [
  'bin', 'deploy', 'docs', 'schemas', 'prometheus/alerts.yml',
  'CHANGELOG.md', 'LICENSE', 'README.md',
]
/** Folders of TypeScript. The image needs the second. */
const COMPILED = ['src', 'docker']
/** Sources of SQLite, what is for people who program or for another runtime (Bare), and doubles. */
const NEVER_USED = [
  /\/better-sqlite3\/(deps|src)$|\/bintrees\/test$/,
  /\/bare-\w+\/prebuilds$|\/swagger-ui-es-bundle[-\w]*\.js$/,
  /\/\.[^/]+$|\/binding\.gyp$|\.map$|\.d\.[cm]?ts$/,
]
const SQLITE_BINDING = /\/prebuilds\/(.+)\.node$/

/** @param machine without it, for every machine, as a package for npm */
export function layOutProgram(folder: string, release: Release, machine?: Machine): void {
  mkdirSync(folder, { recursive: true })
  for (const name of TAKEN_AS_IS) {
    cpSync(join(CHECKOUT, name), join(folder, name), { recursive: true })
  }
  writeFileSync(join(folder, 'package.json'), toJson(manifestOf(release)))
  for (const sources of COMPILED) layOutSources(folder, sources)
  chmodSync(join(folder, 'src/thermolog.js'), 0o755)
  for (const locked of lockedPackages()) layOutPackage(folder, locked, machine)
}

/** @param nodePackage the folder of `node-linux-…`, of which headers are a third */
export function addNode(folder: string, machine: Machine, nodePackage: string): void {
  const target = join(folder, 'node_modules', `node-linux-${machine}`)
  for (const name of ['bin/node', 'LICENSE', 'package.json']) {
    cpSync(join(nodePackage, name), join(target, name), { recursive: true })
  }
  chmodSync(join(target, 'bin/node'), 0o755)
}

function layOutSources(folder: string, sources: string): void {
  const paths = readdirSync(join(CHECKOUT, sources), { recursive: true, encoding: 'utf8' })
  for (const path of paths.filter((name) => /\.(?!md$)\w+$/.test(name))) {
    const source = readFileSync(join(CHECKOUT, sources, path))
    const target = join(folder, sources, path.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(target), { recursive: true })
    if (path.endsWith('.ts')) writeFileSync(target, stripTypes(source.toString()))
    else if (path === 'thermolog.js') writeFileSync(target, pointToJavaScript(source.toString()))
    else writeFileSync(target, source)
  }
}

function layOutPackage(folder: string, locked: LockedPackage, machine: Machine | undefined): void {
  const isWanted = (source: string) => {
    if (basename(source) === 'node_modules') return false
    if (NEVER_USED.some((pattern) => pattern.test(source))) return false
    const binding = SQLITE_BINDING.exec(source)?.[1]
    return machine === undefined || binding === undefined || binding === `linux-${machine}`
  }
  const manifest = readInstalled(locked)
  const target = join(folder, locked.path)
  cpSync(join(CHECKOUT, locked.path), target, { recursive: true, filter: isWanted })
  // Where npm installs this, it would run the ones, and hold the others against its own Node.
  const without = { scripts: undefined, engines: undefined }
  writeFileSync(join(target, 'package.json'), toJson({ ...manifest, ...without }))
}

function manifestOf({ version, commit }: Release): object {
  const text = readFileSync(join(CHECKOUT, 'package.json'), 'utf8')
  const manifest = JSON.parse(text) as Record<string, unknown>
  const { name, description, license, type, bin } = manifest
  const { dependencies, optionalDependencies } = manifest as Record<string, Record<string, string>>
  const node = `node-linux-${NODE_OF_NPM}`
  const bundleDependencies = [...Object.keys(dependencies ?? {}), node]
  const optional = { optionalDependencies: { [node]: optionalDependencies?.[node] } }
  const ofProgram = { name, version, commit, description, license, type, bin }
  return { ...ofProgram, dependencies, ...optional, bundleDependencies }
}

function toJson(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
