// How tests find a real Chromium: CHROMIUM_PATH, else one of the usual commands on PATH. Where
// there is none the tests that need it are left out; with REQUIRE_CHROMIUM=1 they fail. One is
// shared by all tests of a run.

import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'
import { atEndOfRun } from './end-of-run.ts'
import { leaveOut } from './left-out.ts'

/** The shell takes half of the processor: it has no window of a browser around the page. */
const COMMANDS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking']
const START_MS_MAX = 60_000

let shared: Promise<Browser> | undefined

/**
 * Says that the tests of the suite need a browser.
 *
 * @returns what gives it; to be called in tests and hooks, not before
 */
export function useChromium(): () => Browser {
  let browser: Browser | undefined
  before(async function () {
    this.timeout(START_MS_MAX)
    shared ??= launchChromium()
    if (shared === undefined) leaveOutSuite(this)
    browser = await shared
  })
  return () => {
    if (browser === undefined) throw new Error('Chromium is started in a hook before the tests')
    return browser
  }
}

atEndOfRun(async () => {
  await (await shared)?.close()
})

/** @returns `undefined`: there is none */
export function launchChromium(): Promise<Browser> | undefined {
  const executablePath = findChromium()
  return executablePath === undefined ? undefined : chromium.launch({ executablePath, args: FLAGS })
}

function leaveOutSuite(context: Mocha.Context): never {
  if (process.env['REQUIRE_CHROMIUM'] === '1') throw new Error('REQUIRE_CHROMIUM=1, but none found')
  return leaveOut(context, 'Chromium')
}

function findChromium(): string | undefined {
  const named = process.env['CHROMIUM_PATH']
  if (named !== undefined) return named
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return COMMANDS.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
