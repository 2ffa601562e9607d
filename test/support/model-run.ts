// Random sequences of all that a daemon can do, crashes between them, against a model. The same for
// both stores; test/model has it short, test/faults long.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Environment } from './command.ts'
import { allCommands, Read, RealService } from './model-commands.ts'
import { ServiceModel } from './service-model.ts'
import { expectClean } from './verify.ts'

const COMMANDS_MAX = 40

/**
 * Fails with the seed and the shortest sequence of commands that was found in the time.
 *
 * @param length how many sequences, and when the last one begins at the latest
 */
export async function runModel(
  { runs, msMax }: { readonly runs: number; readonly msMax: number },
  settings: Environment = {},
): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-model-'))
  const real = new RealService(dataDir, settings)
  await real.start()
  const deadlineMs = performance.now() + msMax
  let isFirst = true
  try {
    const sequences = fc.commands(allCommands, { maxCommands: COMMANDS_MAX, size: 'max' })
    const property = fc.asyncProperty(sequences, async (commands) => {
      if (!isFirst && performance.now() > deadlineMs) return
      isFirst = false
      await real.newUser()
      const model = new ServiceModel()
      await fc.asyncModelRun(() => ({ model, real }), commands)
      await new Read().run(model, real)
    })
    await fc.assert(property, { numRuns: runs })
    await expectClean(dataDir, settings)
  } finally {
    await real.stop()
    await rm(dataDir, { recursive: true })
  }
}
