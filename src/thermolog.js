#!/usr/bin/env node
// The command `thermolog`: refuses a Node that cannot run it, by name, before anything else is
// loaded. It is plain JavaScript because an old Node cannot even parse the TypeScript it would
// otherwise start with, and the SQLite binding crashes without a word where Node-API is too old.

import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const { node: nodeVersion, napi: nodeApiVersion } = process.versions
const runsTypeScript = process.features.typescript

// The service takes and lets go of some hundred megabytes a second. The defaults of V8 and glibc
// let that grow to twice the memory it needs; they are read only when a process starts, so `serve`
// starts itself once more with these: a heap that may grow to two and a half times of what lives in
// it is cleared half as often. Whoever sets MALLOC_ARENA_MAX has chosen otherwise.
//
// The young generation of the main thread is where batches wait for their commit. That of the other
// threads is a limit of their own, which the flag would outweigh: it is taken back.
const MEMORY_FLAGS = [
  '--max-semi-space-size=8',
  '--max-old-space-size=256',
  '--heap-growing-percent=150',
]

// What is large (filters of the event ledger, above all) lies on huge pages where the system has
// them for whoever asks: a filter is asked at random places, and finding those in memory is most of
// the work.
const MEMORY_ENVIRONMENT = {
  GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1',
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '131072',
}

// What Node has compiled, for the next start: it takes half the time, and what need not compile
// TypeScript does not keep the compiler in memory. Threads take it from the environment. Where it
// cannot be written it is as if it were not there.
const COMPILED = fileURLToPath(new URL('../node_modules/.cache/thermolog', import.meta.url))
process.env['NODE_COMPILE_CACHE'] = process.env['NODE_COMPILE_CACHE'] || COMPILED

function startsWithMoreMemoryThanNeeded() {
  const isService = process.argv[2] === 'serve'
  const mayStartAnew = process.platform === 'linux' && process.execve !== undefined
  return isService && mayStartAnew && process.env['MALLOC_ARENA_MAX'] === undefined
}

if (runsTypeScript && Number(nodeApiVersion) >= 10) {
  if (startsWithMoreMemoryThanNeeded()) {
    const args = [process.execPath, ...process.execArgv, ...MEMORY_FLAGS, ...process.argv.slice(1)]
    process.execve(process.execPath, args, { ...process.env, ...MEMORY_ENVIRONMENT })
  }
  module.enableCompileCache()
  setFlagsFromString('--max-semi-space-size=0')
  // No `await` out here: Node before 14 could not parse it, and would not say why.
  void import('./cli/main.ts').then(async ({ main }) => {
    process.exitCode = await main(process.argv.slice(2))
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
