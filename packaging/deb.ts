// The package for Debian around the program.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { openToAll, writeAr, writeTar } from './archives.ts'
import { bashCompletion, manualPage } from './manual.ts'
import type { Machine } from './program.ts'
import type { Release } from './release.ts'

const SCRIPTS = ['postinst', 'prerm', 'postrm']
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' } as const

/**
 * @param program the folder of the program, which is moved
 * @param folder an empty one, for the parts
 */
export async function writeDeb(
  target: string,
  { program, folder }: { program: string; folder: string },
  release: Release,
  machine: Machine,
): Promise<void> {
  const root = join(folder, 'root')
  const control = join(folder, 'control')
  mkdirSync(control)
  await layOutRoot(root, program, release)
  writeFileSync(join(control, 'control'), controlOf(root, release, machine))
  writeFileSync(join(control, 'md5sums'), checksums(root))
  for (const name of SCRIPTS) copy(debian(name), join(control, name), 0o755)
  openToAll(control)
  const { version, madeAtS } = release
  const members = ['debian-binary', 'control.tar.xz', 'data.tar.xz'].map((m) => join(folder, m))
  const [format = '', controlTar = '', dataTar = ''] = members
  writeFileSync(format, '2.0\n')
  writeTar(controlTar, control, ['.'], { madeAtS, compressor: 'xz' })
  writeTar(dataTar, root, ['.'], { madeAtS, compressor: 'xz' })
  writeAr(join(target, `thermolog_${version}_${ARCHITECTURES[machine]}.deb`), members, madeAtS)
}

async function layOutRoot(root: string, program: string, release: Release): Promise<void> {
  const installed = join(root, 'usr/lib/thermolog')
  const documents = join(root, 'usr/share/doc/thermolog')
  mkdirSync(dirname(installed), { recursive: true })
  renameSync(program, installed)
  mkdirSync(join(root, 'usr/bin'))
  symlinkSync('../lib/thermolog/bin/thermolog', join(root, 'usr/bin/thermolog'))
  installUnits(join(installed, 'deploy'), join(root, 'usr/lib/systemd/system'))
  // No conffile: dpkg would ask about settings that are there before the package.
  copy(debian('thermolog.env'), join(root, 'usr/share/thermolog/thermolog.env'))
  renameInto(documents, join(installed, 'docs'))
  // The service shows it, also where Debian is told to install no documents.
  copy(join(documents, 'daemon.md'), join(installed, 'docs/daemon.md'))
  for (const name of ['README.md', 'CHANGELOG.md']) {
    renameInto(join(documents, name), join(installed, name))
  }
  copy(join(installed, 'LICENSE'), join(documents, 'copyright'))
  const completions = join(root, 'usr/share/bash-completion/completions/thermolog')
  write(completions, await bashCompletion())
  const manual = join(root, 'usr/share/man/man1/thermolog.1')
  write(manual, await manualPage(release))
  execFileSync('gzip', ['-n', '-9', manual])
  openToAll(root)
}

/** Units as they are in `deploy/`, but for where the program is. */
function installUnits(deploy: string, target: string): void {
  for (const name of readdirSync(deploy).filter((file) => /\.(service|socket|timer)$/.test(file))) {
    const unit = readFileSync(join(deploy, name), 'utf8')
    write(join(target, name), unit.replaceAll('/opt/thermolog/', '/usr/lib/thermolog/'))
  }
}

function controlOf(root: string, { version }: Release, machine: Machine): string {
  const size = readFilesBelow(root).reduce((sum, path) => sum + readFileSync(path).length, 0)
  const values: Record<string, string> = {
    VERSION: version,
    ARCHITECTURE: ARCHITECTURES[machine],
    KIBIBYTES: String(Math.ceil(size / 1024)),
  }
  const text = readFileSync(debian('control'), 'utf8')
  return text.replace(/@([A-Z]+)@/g, (_, name: string) => values[name] ?? '')
}

function checksums(root: string): string {
  const lines = readFilesBelow(root)
    .map((path) => path.slice(root.length + 1))
    .map(
      (path) =>
        `${createHash('md5')
          .update(readFileSync(join(root, path)))
          .digest('hex')}  ${path}`,
    )
  return `${lines.join('\n')}\n`
}

function readFilesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
}

function debian(name: string): string {
  return join(import.meta.dirname, 'debian', basename(name))
}

function copy(source: string, target: string, mode = 0o644): void {
  mkdirSync(dirname(target), { recursive: true })
  cpSync(source, target)
  chmodSync(target, mode)
}

function renameInto(target: string, source: string): void {
  mkdirSync(dirname(target), { recursive: true })
  renameSync(source, target)
}

function write(target: string, text: string): void {
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, text)
}
