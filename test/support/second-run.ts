// What `.ci/run` does to try every test once, without the programs that may be missing and with
// them: the first run, without, notes in LEFT_OUT_FILE what it left out; the second, with
// LEFT_OUT_BEFORE naming that file, runs these tests alone.

import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

const noted = process.env['LEFT_OUT_FILE']
const before = process.env['LEFT_OUT_BEFORE']
const wanted =
  before === undefined ? undefined : new Set(readFileSync(before, 'utf8').trim().split('\n'))

/** The title of a test that is not wanted in this run ends with it. */
const MARK = ' (run before)'

/** Notes what was left out. @param title in full */
export function noteLeftOut(file: string | undefined, title: string): void {
  if (noted !== undefined) appendFileSync(noted, `${lineOf(file, title)}\n`)
}

/** A file of tests, from where mocha runs. */
export function nameOf(file: string | undefined): string {
  return file === undefined ? 'no file' : relative(process.cwd(), file)
}

/** Leaves out the test that is about to begin if the first run has run it. */
export function skipWhatWasRun(context: Mocha.Context): void {
  const { currentTest } = context
  if (wanted === undefined || currentTest === undefined) return
  if (wanted.has(lineOf(currentTest.file, currentTest.fullTitle()))) return
  currentTest.title += MARK
  context.skip()
}

export function wasRunBefore(title: string): boolean {
  return title.endsWith(MARK)
}

function lineOf(file: string | undefined, title: string): string {
  return `${nameOf(file)}\t${title.replaceAll(/\s/g, ' ')}`
}
