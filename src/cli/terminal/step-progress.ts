// One progress bar after another, on standard error.

import type { WorkProgress } from '../../ports/system.ts'
import { systemClock } from '../../system/clock.ts'
import { Progress } from './progress.ts'
import { counted, printNote } from './print.ts'

export class StepProgress implements WorkProgress {
  #current: Progress | undefined

  begin(what: string, total: number, noun: string): void {
    this.end()
    printNote(`${what}: ${counted(total, noun)}`)
    const settings = { total, counted: `${noun}s` }
    this.#current = new Progress(process.stderr, systemClock, settings)
    this.#current.begin(what)
  }

  note(text: string): void {
    printNote(text)
  }

  advance(amount: number): void {
    this.#current?.advance(amount)
    this.#current?.count(amount)
  }

  end(): void {
    this.#current?.end()
    this.#current = undefined
  }
}
