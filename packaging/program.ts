// The program as it is installed: JavaScript, schemas, documents, run-time dependencies, and where
// it is for one kind of machine, Node.

import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { lockedPackages } from './lock.ts'
import { CHECKOUT } from './release.ts'
import type { Release } from './release.ts'
import { pointToJavaScript, stripTypes } from './strip-types.ts'

/** Kinds of machines, by Node's names for them. */
export type Machine = 'x64' | 'arm64'

const TAKEN_AS_IS = ['bin', 'deploy', 'docs', 'schemas', 'CHANGELOG.md', 'LICENSE', 'README.md']
/** Sources of SQLite, what is for another runtime (Bare), and what is for people who program. */
const NEVER_USED = [
  /\/better-sqlite3\/(deps|src)$/,
  /\/bare-\w+\/prebuilds$/,
  /\/\.[^/]+$|\/binding\.gyp$|\.map$|\.d\.[cm]?ts$/,
]
const SQLITE_BINDING = /\/prebuilds\/(.+)\.node$/

/** @param machine without it, for every machine that has Node already */
export function layOutProgram(folder: string, release: Release, machine?: Machine): void {
  mkdirSync(folder, { recursive: true })
  for (const name of TAKEN_AS_IS) {
    cpSync(join(CHECKOUT, name), join(folder, name), { recursive: true })
  }
  writeFileSync(join(folder, 'package.json'), toJson(manifestOf(release)))
  layOutSources(folder)
  for (const { path } of lockedPackages()) layOutPackage(folder, path, machine)
}

/** @param nodePackage the folder of `node-linux-…` */
export function addNode(folder: string, machine: Machine, nodePackage: string): void {
  const target = join(folder, 'node_modules', `node-linux-${machine}`)
  for (const name of ['bin/node', 'LICENSE', 'package.json']) {
    cpSync(join(nodePackage, name), join(target, name), { recursive: true })
  }
  chmodSync(join(target, 'bin/node'), 0o755)
}

function layOutSources(folder: string): void {
  const paths = readdirSync(join(CHECKOUT, 'src'), { recursive: true, encoding: 'utf8' })
  for (const path of paths.filter((name) => /\.(?!md$)\w+$/.test(name))) {
    const source = readFileSync(join(CHECKOUT, 'src', path))
    const target = join(folder, 'src', path.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(target), { recursive: true })
    if (path.endsWith('.ts')) writeFileSync(target, stripTypes(source.toString()))
    else if (path === 'thermolog.js') writeFileSync(target, pointToJavaScript(source.toString()))
    else writeFileSync(target, source)
  }
  chmodSync(join(folder, 'src/thermolog.js'), 0o755)
}

function layOutPackage(folder: string, path: string, machine: Machine | undefined): void {
  const isWanted = (source: string) => {
    if (basename(source) === 'node_modules') return false
    if (NEVER_USED.some((pattern) => pattern.test(source))) return false
    const binding = SQLITE_BINDING.exec(source)?.[1]
    return machine === undefined || binding === undefined || binding === `linux-${machine}`
  }
  const target = join(folder, path)
  cpSync(join(CHECKOUT, path), target, { recursive: true, filter: isWanted })
  // npm would run them, where this is installed by npm.
  const manifest = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8')) as object
  writeFileSync(join(target, 'package.json'), toJson({ ...manifest, scripts: undefined }))
}

function manifestOf({ version, commit }: Release): object {
  const text = readFileSync(join(CHECKOUT, 'package.json'), 'utf8')
  const manifest = JSON.parse(text) as Record<string, unknown>
  const { name, description, license, type, engines, bin } = manifest
  const { dependencies, optionalDependencies } = manifest
  const bundleDependencies = Object.keys(dependencies as object)
  const ofProgram = { name, version, commit, description, license, type, engines, bin }
  return { ...ofProgram, dependencies, optionalDependencies, bundleDependencies }
}

function toJson(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
