#!/usr/bin/env node
// The command `thermolog`: refuses a Node that cannot run it, by name, before anything else is
// loaded. It is plain JavaScript because an old Node cannot even parse the TypeScript it would
// otherwise start with, and the SQLite binding crashes without a word where Node-API is too old.

import { readFileSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import util from 'node:util'
import { setFlagsFromString } from 'node:v8'

const { node: nodeVersion, napi: nodeApiVersion } = process.versions
const runsTypeScript = process.features.typescript

// What makes the service return memory is read only when a process starts. `bin/thermolog` starts
// `serve` with it; started in another way, `serve` starts itself once more.
const MEMORY = new URL('memory.env', import.meta.url)

// What Node has compiled, for the next start: it takes half the time, and what need not compile
// TypeScript does not keep the compiler in memory. Threads take it from the environment. Where it
// cannot be written it is as if it were not there.
const COMPILED = fileURLToPath(new URL('../node_modules/.cache/thermolog', import.meta.url))
process.env['NODE_COMPILE_CACHE'] = process.env['NODE_COMPILE_CACHE'] || COMPILED

function startsWithMoreMemoryThanNeeded() {
  const isService = process.argv[2] === 'serve'
  const mayStartAnew = process.platform === 'linux' && process.execve !== undefined
  // Node closes a socket that systemd has handed over when it starts anew.
  const isActivated = process.env['LISTEN_PID'] === String(process.pid)
  const isChosen = process.env['MALLOC_ARENA_MAX'] !== undefined
  return isService && mayStartAnew && !isActivated && !isChosen
}

function startAnew() {
  const { V8_FLAGS = '', ...memory } = util.parseEnv(readFileSync(MEMORY, 'utf8'))
  const flags = V8_FLAGS.split(' ')
  const args = [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)]
  process.execve(process.execPath, args, { ...process.env, ...memory })
}

if (runsTypeScript && Number(nodeApiVersion) >= 10) {
  if (startsWithMoreMemoryThanNeeded()) startAnew()
  module.enableCompileCache()
  setFlagsFromString('--max-semi-space-size=0')
  // No `await` out here: Node before 14 could not parse it, and would not say why.
  void import('./cli/main.ts').then(async ({ main }) => {
    const exitCode = await main(process.argv.slice(2))
    // It may have been set when output could not be written.
    process.exitCode ||= exitCode
  })
} else {
  process.stderr.write(
    `thermolog needs Node 22.18 or newer (Node-API 10); this is Node ${nodeVersion}, ` +
      `Node-API ${nodeApiVersion}, at ${process.execPath}.\n` +
      'On 64-bit Linux (x64, arm64) `npm ci` brings a Node 24, which `npm start`,\n' +
      '`npx thermolog …` and `bin/thermolog …` use. Elsewhere install Node 22.18 or newer.\n',
  )
  process.exitCode = 2
}
