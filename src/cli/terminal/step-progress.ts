// One progress bar after another, on standard error.

import { grouped } from '../../domain/grouped.ts'
import type { WorkProgress } from '../../ports/system.ts'
import { systemClock } from '../../system/clock.ts'
import { Progress } from './progress.ts'
import { printNote } from './print.ts'

export class StepProgress implements WorkProgress {
  #current: Progress | undefined

  /** @param total the sum of all calls of `advance`, in units of `counted` */
  begin(what: string, total: number, counted: string): void {
    this.end()
    printNote(`${what}: ${grouped(total)} ${total === 1 ? counted.replace(/s$/, '') : counted}`)
    this.#current = new Progress(process.stderr, systemClock, { total, counted })
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
