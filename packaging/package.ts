// Makes the artefacts in dist/: see README.md beside this.
//
//   npm run package [-- x64]

import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openToAll, writeTar } from './archives.ts'
import { writeDeb } from './deb.ts'
import { fetchNode } from './fetch-node.ts'
import { addNode, layOutProgram } from './program.ts'
import type { Machine } from './program.ts'
import { CHECKOUT, readRelease } from './release.ts'
import type { Release } from './release.ts'
import { releaseNote } from './release-note.ts'
import { billOfMaterials } from './sbom.ts'

const MACHINES: readonly Machine[] = ['x64', 'arm64']
const DIST = join(CHECKOUT, 'dist')

await makeArtefacts(process.argv.slice(2))

async function makeArtefacts(wanted: readonly string[]): Promise<void> {
  const release = readRelease()
  const note = releaseNote(release.version)
  const machines = MACHINES.filter((name) => wanted.length === 0 || wanted.includes(name))
  const temporary = mkdtempSync(join(tmpdir(), 'thermolog-package-'))
  rmSync(DIST, { recursive: true, force: true })
  mkdirSync(DIST)
  try {
    makeNpmPackage(release, temporary)
    for (const machine of machines) await makeForMachine(release, machine, temporary)
  } finally {
    rmSync(temporary, { recursive: true })
  }
  writeFileSync(join(DIST, `thermolog-${release.version}.notes.txt`), note)
  const bill = JSON.stringify(billOfMaterials(release, machines), undefined, 2)
  writeFileSync(join(DIST, `thermolog-${release.version}.cdx.json`), `${bill}\n`)
  writeChecksums()
}

function makeNpmPackage(release: Release, temporary: string): void {
  layOutProgram(join(temporary, 'package'), release)
  pack(`thermolog-${release.version}.tgz`, temporary, 'package', release)
}

async function makeForMachine(release: Release, machine: Machine, temporary: string) {
  const folder = mkdtempSync(join(temporary, `${machine}-`))
  const node = fetchNode(machine, folder)
  if (node === undefined) {
    process.stderr.write(`NOT MADE: artefacts for ${machine}: npm could not get its Node\n`)
    process.exitCode = 1
    return
  }
  const name = `thermolog-${release.version}`
  const program = join(folder, name)
  layOutProgram(program, release, machine)
  addNode(program, machine, node)
  pack(`${name}-linux-${machine}.tar.gz`, folder, name, release)
  told(await writeDeb(DIST, { program, folder }, release, machine))
}

function pack(file: string, folder: string, name: string, { madeAtS }: Release): void {
  openToAll(join(folder, name))
  const target = join(DIST, file)
  writeTar(target, folder, [name], { madeAtS, compressor: 'gz' })
  told(target)
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

function told(file: string): void {
  process.stdout.write(`${file}\n`)
}
