// A Debian of nothing but its minimal packages, as a tree to change the root to.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { leaveOut } from './left-out.ts'

const run = promisify(execFile)
/** It takes 40 s on an idle machine with a mirror nearby. */
const MS_MAX = 280_000

/** Makes one, or leaves out the suite where that is not possible. To be called in a hook. */
export async function makeBareDebian(context: Mocha.Context, folder: string): Promise<void> {
  try {
    await run('debootstrap', ['--variant=minbase', 'bookworm', folder], { timeout: MS_MAX })
  } catch {
    leaveOut(context, 'debootstrap')
  }
}
