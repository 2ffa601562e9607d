// How a run of tests is told: as mocha's own reporter does it, but tests that are left out are no
// line each among the others: there is one short list of what they want, at the end, and one of the
// files and tests that took the longest. With FAILURES_FILE, what failed is added to it in short.

import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import Mocha from 'mocha'
import { failureLines } from './failure-lines.ts'
import { leftOutLines, missingFor } from './left-out.ts'
import type { Missing } from './left-out.ts'

const { Base } = Mocha.reporters
const {
  EVENT_HOOK_END,
  EVENT_RUN_END,
  EVENT_SUITE_BEGIN,
  EVENT_SUITE_END,
  EVENT_TEST_FAIL,
  EVENT_TEST_PASS,
  EVENT_TEST_PENDING,
} = Mocha.Runner.constants

const SLOWEST_MAX = 10

interface Timed {
  readonly name: string
  readonly durationMs: number
}

// Mocha takes a reporter's default export.
// oxlint-disable-next-line import/no-default-export
export default class Reporter extends Base {
  readonly #missing: Missing[] = []
  readonly #pending: string[] = []
  /** Suites that have begun, from the outside in; a title is told with the first test in it. */
  readonly #suites: { readonly title: string; isTold: boolean }[] = []
  readonly #tests: Timed[] = []
  readonly #fileMs = new Map<string, number>()
  #failed = 0

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options)
    runner.on(EVENT_SUITE_BEGIN, ({ title }) => this.#suites.push({ title, isTold: false }))
    runner.on(EVENT_SUITE_END, () => this.#suites.pop())
    runner.on(EVENT_TEST_PASS, (test) => this.#tellPassed(test))
    runner.on(EVENT_TEST_FAIL, ({ title }) => this.#tellFailed(title))
    runner.on(EVENT_HOOK_END, (hook) => this.#noteTime(hook))
    runner.on(EVENT_TEST_PENDING, (test) => this.#notePending(test))
    runner.once(EVENT_RUN_END, () => this.#tellEnd())
  }

  #tellPassed(test: Mocha.Test): void {
    const { title, speed = 'fast', duration = 0 } = test
    this.#tests.push({ name: test.fullTitle(), durationMs: duration })
    this.#noteTime(test)
    const took = speed === 'fast' ? '' : Base.color(speed, ` (${duration}ms)`)
    this.#tell(Base.color('checkmark', Base.symbols.ok) + Base.color('pass', ` ${title}`) + took)
  }

  #tellFailed(title: string): void {
    this.#tell(Base.color('fail', `${++this.#failed}) ${title}`))
  }

  #noteTime({ file, duration = 0 }: Mocha.Runnable): void {
    if (file === undefined) return
    const name = nameOf(file)
    this.#fileMs.set(name, (this.#fileMs.get(name) ?? 0) + duration)
  }

  #notePending(test: Mocha.Test): void {
    const missing = missingFor(test.title)
    if (missing === undefined) this.#pending.push(test.fullTitle())
    else this.#missing.push(missing)
  }

  #tell(line: string): void {
    const indent = (depth: number) => '  '.repeat(depth)
    for (const [depth, suite] of this.#suites.entries()) {
      if (suite.isTold) continue
      suite.isTold = true
      if (depth === 1) Base.consoleLog()
      if (depth > 0) Base.consoleLog(indent(depth) + Base.color('suite', suite.title))
    }
    Base.consoleLog(`${indent(this.#suites.length)}${line}`)
  }

  #tellEnd(): void {
    this.epilogue()
    const files = [...this.#fileMs].map(([name, durationMs]): Timed => ({ name, durationMs }))
    const lines = [
      'The slowest files and tests, in seconds:',
      ...slowest(files),
      ...slowest(this.#tests),
      '',
      ...leftOutLines(this.#missing),
      ...this.#pending.map((title) => `${title}: left out without a reason`),
    ]
    for (const line of lines) Base.consoleLog(`  ${line}`)
    Base.consoleLog()
    this.#noteFailures(process.env['FAILURES_FILE'])
  }

  #noteFailures(path: string | undefined): void {
    if (path === undefined) return
    for (const test of this.failures) {
      const lines = failureLines({ ...test, file: nameOf(test.file), title: test.fullTitle() })
      appendFileSync(path, `${lines.join('\n')}\n`)
    }
  }
}

/** A file of tests, from where mocha runs. */
function nameOf(file: string | undefined): string {
  return file === undefined ? 'no file' : relative(process.cwd(), file)
}

function slowest(all: readonly Timed[]): string[] {
  const ordered = all.toSorted((one, other) => other.durationMs - one.durationMs)
  return ordered
    .slice(0, SLOWEST_MAX)
    .map(({ name, durationMs }) => `${(durationMs / 1_000).toFixed(1).padStart(6)}  ${name}`)
}
