// A program of others that runs while a test does, and ends with it.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { until } from './until.ts'

export interface ForeignProgram {
  stop(): Promise<void>
}

/**
 * Resolves when the program is ready.
 *
 * @throws Error with what it has written, if it ends before
 */
export async function startForeign(
  program: string,
  args: readonly string[],
  isReady: () => Promise<boolean>,
): Promise<ForeignProgram> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const endWithUs = () => child.kill('SIGTERM')
  process.once('exit', endWithUs)
  const errors = text(child.stderr)
  const exited = once(child, 'exit')
  await until(`${program} is ready`, async () => {
    if (child.exitCode !== null) throw new Error(`${program} has ended: ${await errors}`)
    return isReady()
  })
  return {
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      process.off('exit', endWithUs)
    },
  }
}
