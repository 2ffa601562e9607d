// What mocha does around each test. It makes what hangs end with its name: a test that waits too
// long is ended by mocha, and told with what it waited for; one that lets nothing else run cannot
// be, so a thread ends the process.

import { Worker } from 'node:worker_threads'
import { keepFilesInMemory } from './files-in-memory.ts'
import { awaited, forgetAwaited } from './until.ts'

keepFilesInMemory()

const SILENCE_MS_MAX = 120_000
const BEAT_EVERY_MS = 500

const beats = new Int32Array(new SharedArrayBuffer(4))
setInterval(() => Atomics.add(beats, 0, 1), BEAT_EVERY_MS).unref()

const WATCH = `
  const { parentPort, workerData: { beats, silenceMsMax } } = require('node:worker_threads')
  let test = 'a file that is being loaded'
  let seen = -1
  let atMs = performance.now()
  parentPort.on('message', (title) => { test = title })
  setInterval(() => {
    if (seen !== beats[0]) [seen, atMs] = [beats[0], performance.now()]
    if (performance.now() < atMs + silenceMsMax) return
    const told = 'let nothing else run for ' + silenceMsMax + ' ms: ' + test
    require('node:fs').writeSync(2, told + '\\n')
    process.kill(process.pid, 'SIGKILL')
  }, 1_000)
`
const watch = new Worker(WATCH, {
  eval: true,
  workerData: { beats, silenceMsMax: SILENCE_MS_MAX },
})
watch.unref()

/** Mocha takes them from this name. */
export const mochaHooks = {
  beforeEach(this: Mocha.Context): void {
    forgetAwaited()
    watch.postMessage(this.currentTest?.fullTitle())
  },
  afterEach(this: Mocha.Context): void {
    const error = this.currentTest?.err
    if (error === undefined || !error.message.startsWith('Timeout of')) return
    const resources = [...new Set(process.getActiveResourcesInfo())].join(', ')
    const [first = `one of ${resources}`, ...more] = awaited()
    error.message = [error.message, `It waited for: ${[first, ...more].join('; ')}`].join('\n')
    error.stack = error.message
  },
}
