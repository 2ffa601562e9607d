#!/usr/bin/env node
// The command `thermolog`: refuses a Node that cannot run it, by name, before anything else is
// loaded. It is plain JavaScript because an old Node cannot even parse the TypeScript it would
// otherwise start with, and the SQLite binding crashes without a word where Node-API is too old.

import { spawn } from 'node:child_process'
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
const given = { ...process.env }
process.env['NODE_COMPILE_CACHE'] = process.env['NODE_COMPILE_CACHE'] || COMPILED

function startsWithMoreMemoryThanNeeded() {
  const isService = process.argv[2] === 'serve'
  const mayStartAnew = process.platform === 'linux' && process.execve !== undefined
  // Node closes a socket that systemd has handed over when it starts anew.
  const isActivated = process.env['LISTEN_PID'] === String(process.pid)
  const isChosen = process.env['MALLOC_ARENA_MAX'] !== undefined
  return isService && mayStartAnew && !isActivated && !isChosen
}

function startAnew(flags, environment) {
  const args = [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)]
  process.execve(process.execPath, args, environment)
}

function startWithLessMemory() {
  const { V8_FLAGS = '', ...memory } = util.parseEnv(readFileSync(MEMORY, 'utf8'))
  startAnew(V8_FLAGS.split(' '), { ...process.env, ...memory })
}

// Its user may be in other hands: in a session of its own, and without an inspector that a signal
// opens, nothing leads from it to root's terminal.
function startAs({ uid, gid, environment: env }) {
  const quiet = '--disable-sigusr1'
  const flags = process.allowedNodeEnvironmentFlags.has(quiet) ? [quiet] : []
  const args = [...process.execArgv, ...flags, ...process.argv.slice(1)]
  const child = spawn(process.execPath, args, { uid, gid, env, detached: true, stdio: 'inherit' })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  const handOn = (signal) => child.kill(signal)
  for (const signal of signals) process.on(signal, handOn)
  child.once('error', refuse)
  child.once('exit', (code, signal) => {
    for (const name of signals) process.off(name, handOn)
    if (signal === null) process.exitCode = code
    else process.kill(process.pid, signal)
  })
}

async function runAsRoot() {
  // Without a command there is only help.
  if (!/^[^-]/.test(process.argv[2] || '')) return run()
  const { readServiceAccount } = await import('./cli/service-settings.ts')
  let account
  try {
    account = readServiceAccount(given)
  } catch (error) {
    return refuse(error)
  }
  return account === undefined ? run() : startAs(account)
}

async function run() {
  const { main } = await import('./cli/main.ts')
  if (process.argv[2] === 'serve') process.title = 'thermolog'
  process.exitCode = await main(process.argv.slice(2), process)
}

function refuse(error) {
  process.stderr.write(`thermolog: the service's settings cannot be used: ${error.message}\n`)
  process.exitCode = 2
}

if (runsTypeScript && Number(nodeApiVersion) >= 10) {
  if (startsWithMoreMemoryThanNeeded()) startWithLessMemory()
  const isRoot = process.getuid !== undefined && process.getuid() === 0
  // Nobody else may write into what root runs.
  if (isRoot) process.umask(process.umask() | 0o022)
  module.enableCompileCache()
  setFlagsFromString('--max-semi-space-size=0')
  // No `await` out here: Node before 14 could not parse it, and would not say why.
  if (isRoot) void runAsRoot()
  else void run()
} else {
  process.stderr.write(
    `thermolog needs Node 22.18 or newer (Node-API 10); this is Node ${nodeVersion}, ` +
      `Node-API ${nodeApiVersion}, at ${process.execPath}.\n` +
      'On 64-bit Linux (x64, arm64) `npm ci` brings a Node 24, which `npm start`,\n' +
      '`npx thermolog …` and `bin/thermolog …` use. Elsewhere install Node 22.18 or newer.\n',
  )
  process.exitCode = 2
}
