// How a run of tests is told: as mocha's own reporter does it, but tests that are left out are no
// line each among the others: there is one short list of what they want, at the end.

import Mocha from 'mocha'
import { leftOutLines, missingFor } from './left-out.ts'
import type { Missing } from './left-out.ts'

const { Base } = Mocha.reporters
const {
  EVENT_RUN_END,
  EVENT_SUITE_BEGIN,
  EVENT_SUITE_END,
  EVENT_TEST_FAIL,
  EVENT_TEST_PASS,
  EVENT_TEST_PENDING,
} = Mocha.Runner.constants

// Mocha takes a reporter's default export.
// oxlint-disable-next-line import/no-default-export
export default class Reporter extends Base {
  readonly #missing: Missing[] = []
  readonly #pending: string[] = []
  /** Suites that have begun, from the outside in; a title is told with the first test in it. */
  readonly #suites: { readonly title: string; isTold: boolean }[] = []
  #failed = 0

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options)
    runner.on(EVENT_SUITE_BEGIN, ({ title }) => this.#suites.push({ title, isTold: false }))
    runner.on(EVENT_SUITE_END, () => this.#suites.pop())
    runner.on(EVENT_TEST_PASS, (test) => this.#tellPassed(test))
    runner.on(EVENT_TEST_FAIL, ({ title }) => this.#tellFailed(title))
    runner.on(EVENT_TEST_PENDING, (test) => this.#notePending(test))
    runner.once(EVENT_RUN_END, () => this.#tellEnd())
  }

  #tellPassed({ title, speed = 'fast', duration = 0 }: Mocha.Test): void {
    const took = speed === 'fast' ? '' : Base.color(speed, ` (${duration}ms)`)
    this.#tell(Base.color('checkmark', Base.symbols.ok) + Base.color('pass', ` ${title}`) + took)
  }

  #tellFailed(title: string): void {
    this.#tell(Base.color('fail', `${++this.#failed}) ${title}`))
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
    const lines = [
      ...leftOutLines(this.#missing),
      ...this.#pending.map((title) => `${title}: left out without a reason`),
    ]
    for (const line of lines) Base.consoleLog(`  ${line}`)
    if (lines.length > 0) Base.consoleLog()
  }
}
