// Makes the artefacts in dist/: see README.md beside this.
//
//   npm run package [-- [x64 | arm64] [npm] [tarball] [deb]]

import { createHash } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { needPrograms, openToAll, writeTar } from './archives.ts'
import { writeDeb } from './deb.ts'
import { fetchNode } from './fetch-node.ts'
import { NODE_OF_NPM, addNode, layOutProgram } from './program.ts'
import type { Machine } from './program.ts'
import { CHECKOUT, readRelease } from './release.ts'
import type { Release } from './release.ts'
import { releaseNote } from './release-note.ts'
import { billOfMaterials } from './sbom.ts'

const MACHINES: readonly Machine[] = ['x64', 'arm64']
const KINDS = ['npm', 'tarball', 'deb'] as const
const DIST = join(CHECKOUT, 'dist')

try {
  await makeArtefacts(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`package: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

async function makeArtefacts(words: readonly string[]): Promise<void> {
  const machines = chosen(MACHINES, words)
  const kinds = chosen(KINDS, words)
  const unknown = words.find((word) => ![...MACHINES, ...KINDS].some((known) => known === word))
  if (unknown !== undefined) {
    throw new Error(`${unknown}: say any of ${[...MACHINES, ...KINDS].join(', ')}, or nothing`)
  }
  const release = readRelease()
  const note = releaseNote(release.version)
  needPrograms(kinds.includes('deb') ? ['gz', 'xz'] : ['gz'])
  const temporary = mkdtempSync(join(tmpdir(), 'thermolog-package-'))
  rmSync(DIST, { recursive: true, force: true })
  mkdirSync(DIST)
  try {
    if (kinds.includes('npm')) makeNpmPackage(release, temporary)
    for (const machine of kinds.some((kind) => kind !== 'npm') ? machines : []) {
      await makeForMachine(release, machine, { kinds, temporary })
    }
  } finally {
    rmSync(temporary, { recursive: true })
  }
  writeFileSync(join(DIST, `thermolog-${release.version}.notes.txt`), note)
  const nodes = new Set(kinds.includes('npm') ? [...machines, NODE_OF_NPM] : machines)
  const bill = JSON.stringify(billOfMaterials(release, [...nodes]), undefined, 2)
  writeFileSync(join(DIST, `thermolog-${release.version}.cdx.json`), `${bill}\n`)
  writeChecksums()
  tellSizes()
}

/** @returns those that are named, or all if none is */
function chosen<Name extends string>(all: readonly Name[], words: readonly string[]) {
  const named = all.filter((name) => words.includes(name))
  return named.length > 0 ? named : all
}

function makeNpmPackage(release: Release, temporary: string): void {
  const folder = mkdtempSync(join(temporary, 'npm-'))
  const node = nodeFor(NODE_OF_NPM, folder)
  if (node === undefined) return
  const program = join(folder, 'package')
  layOutProgram(program, release)
  addNode(program, NODE_OF_NPM, node)
  pack(`thermolog-${release.version}.tgz`, folder, 'package', release)
}

async function makeForMachine(
  release: Release,
  machine: Machine,
  { kinds, temporary }: { kinds: readonly string[]; temporary: string },
): Promise<void> {
  const folder = mkdtempSync(join(temporary, `${machine}-`))
  const node = nodeFor(machine, folder)
  if (node === undefined) return
  const name = `thermolog-${release.version}`
  const program = join(folder, name)
  layOutProgram(program, release, machine)
  addNode(program, machine, node)
  if (kinds.includes('tarball')) pack(`${name}-linux-${machine}.tar.gz`, folder, name, release)
  if (!kinds.includes('deb')) return
  tell(`compressing the package for Debian (${machine}), which takes a minute …`)
  await writeDeb(DIST, { program, folder }, release, machine)
}

function nodeFor(machine: Machine, temporary: string): string | undefined {
  const node = fetchNode(machine, temporary)
  if (node !== undefined) return node
  const others = MACHINES.filter((name) => name !== machine).join(' ')
  process.stderr.write(
    `NOT MADE: what has Node for ${machine}, which npm could not get. Try again with its ` +
      `registry in reach, or leave it out: npm run package -- ${others}\n`,
  )
  process.exitCode = 1
  return undefined
}

function pack(file: string, folder: string, name: string, { madeAtS }: Release): void {
  tell(`compressing ${file} …`)
  openToAll(join(folder, name))
  writeTar(join(DIST, file), folder, [name], { madeAtS, compressor: 'gz' })
}

function writeChecksums(): void {
  const lines = readdirSync(DIST)
    .toSorted()
    .map((name) => `${sha256(readFileSync(join(DIST, name)))}  ${name}\n`)
  writeFileSync(join(DIST, 'SHA256SUMS'), lines.join(''))
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function tellSizes(): void {
  for (const name of readdirSync(DIST).toSorted()) {
    const megabytes = (statSync(join(DIST, name)).size / 1e6).toFixed(1)
    tell(`${megabytes.padStart(6)} MB  dist/${name}`)
  }
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`)
}
