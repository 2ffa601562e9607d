// Artefacts made from a copy of the checkout, and processes that get nothing from ours.

import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const NOT_COPIED = new Set(['node_modules', '.git', 'dist', 'data', 'coverage', 'test'])
const run = promisify(execFile)
const BARE = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

/** Copies the checkout, but for its tests and what Git does not know. */
export function copyCheckout(copy: string): void {
  const filter = (source: string) =>
    !(NOT_COPIED.has(basename(source)) && dirname(source) === dirname(join(ROOT, 'x')))
  cpSync(ROOT, copy, { recursive: true, filter })
}

/**
 * Packages a copy of the checkout for x64, compressed as little and as quickly as can be.
 *
 * @param copy where the copy goes
 * @param umask of the person who copies and packages
 * @param kinds of artefacts; all if none is named
 * @returns its `dist/`
 */
export async function packageCopy(
  copy: string,
  umask: string,
  kinds: readonly ('npm' | 'tarball')[] = [],
): Promise<string> {
  copyCheckout(copy)
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const script = `umask ${umask}; exec bin/node packaging/package.ts x64 ${kinds.join(' ')}`
  const env = { ...BARE, SOURCE_DATE_EPOCH: '1700000000', XZ_OPT: '-0' }
  await run('sh', ['-c', script], { cwd: copy, env })
  return join(copy, 'dist')
}

/**
 * Runs a program with an environment of its own to its end.
 *
 * @returns what it printed
 * @throws AssertionError with its standard error if it does not exit with 0
 */
export function runBare(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): string {
  const { status, stdout, said } = spawnBare(program, args, environment)
  expect(status, said).to.equal(0)
  return stdout
}

/**
 * Runs a program with nothing in its environment that refuses what it is asked for.
 *
 * @returns what it said on standard error
 * @throws AssertionError if it does not exit with 2
 */
export function failBare(program: string, args: readonly string[]): string {
  const { status, stderr, said } = spawnBare(program, args, {})
  expect(status, said).to.equal(2)
  return stderr
}

function spawnBare(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
) {
  const env = { ...BARE, ...environment }
  const { status, stdout, stderr, error } = spawnSync(program, args, { env, encoding: 'utf8' })
  const said = `${program} ${args.join(' ')}\n${stdout}${stderr}${error ?? ''}`
  return { status, stdout, stderr, said }
}

/**
 * Runs a service with an environment of its own while work goes on with it, and has it stop.
 *
 * @param command without `serve`
 */
export async function whileServing(
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const [program = '', ...args] = command
  const env = { ...BARE, ...environment }
  const service = spawn(program, [...args, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(service, 'exit') as Promise<[number | null]>
  for await (const line of createInterface({ input: service.stdout })) {
    const { message, url } = JSON.parse(line) as { message: string; url: string }
    if (message !== 'ready') continue
    await work(url).finally(() => service.kill())
  }
  expect((await ended)[0]).to.equal(0)
}
