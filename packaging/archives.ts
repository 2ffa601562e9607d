// Archives that depend on nothing but the names, contents and modes of files: sorted, owned by
// root, all of one time.

import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'

const COMPRESSORS = {
  gz: ['gzip', '-n'],
  // More than one thread splits the data in blocks, of the same size on every machine.
  xz: ['xz', '--threads=2'],
} as const

/** @throws Error if a program that makes archives is missing, or is another one of its name */
export function needPrograms(compressors: readonly (keyof typeof COMPRESSORS)[]): void {
  const needed = ['GNU tar', ...compressors.map((compressor) => COMPRESSORS[compressor][0])]
  const missing = needed.filter((name) => !versionOf(name.replace('GNU ', '')).includes(name))
  if (missing.length === 0) return
  throw new Error(
    `${missing.join(', ')} must be on PATH (on Debian: apt-get install tar gzip xz-utils)`,
  )
}

function versionOf(program: string): string {
  const { stdout, error } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  return error === undefined ? stdout : ''
}

/** Modes that do not depend on the umask: everyone may read, the owner may write. */
export function openToAll(folder: string): void {
  execFileSync('chmod', ['-R', 'u+rwX,go+rX,go-w', folder])
}

/** @param names what of the folder goes in; all of it as `.` */
export function writeTar(
  file: string,
  folder: string,
  names: readonly string[],
  { madeAtS, compressor }: { madeAtS: number; compressor: keyof typeof COMPRESSORS },
): void {
  const compress = `--use-compress-program=${COMPRESSORS[compressor].join(' ')}`
  const owner = ['--owner=root:0', '--group=root:0', '--numeric-owner']
  const form = ['--sort=name', '--format=gnu', `--mtime=@${madeAtS}`, ...owner]
  execFileSync('tar', [...form, compress, '-C', folder, '-cf', file, ...names])
}

/** An archive as `ar` writes it, which is what a .deb is. */
export function writeAr(file: string, members: readonly string[], madeAtS: number): void {
  const parts = members.flatMap((member) => {
    const content = readFileSync(member)
    const fields = [
      [basename(member), 16],
      [madeAtS, 12],
      [0, 6],
      [0, 6],
      ['100644', 8],
    ] as const
    const header = fields.map(([value, width]) => String(value).padEnd(width)).join('')
    const size = String(content.length).padEnd(10)
    const padding = content.length % 2 === 0 ? '' : '\n'
    return [Buffer.from(`${header}${size}\`\n`), content, Buffer.from(padding)]
  })
  writeFileSync(file, Buffer.concat([Buffer.from('!<arch>\n'), ...parts]))
}
