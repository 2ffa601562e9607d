// What writes beside the main thread, in this one: the same programs, with the same messages, on
// ports of this thread. Starting four workers takes far longer than most tests. An error that a
// worker would die of fails the test.

import { EventEmitter } from 'node:events'
import { MessageChannel, MessagePort } from 'node:worker_threads'
import type { Program, StartThread, Thread } from '../../src/threads/messages.ts'

/** A program on one of two ports; this is the other one. */
class InlineThread extends EventEmitter implements Thread {
  readonly #ports: readonly MessagePort[]
  readonly #own: MessagePort

  constructor(program: URL, data: object) {
    super()
    const { port1, port2 } = new MessageChannel()
    this.#own = port1
    this.#ports = Object.values(data).filter((value) => value instanceof MessagePort)
    port1.on('message', (message) => this.emit('message', message))
    port1.on('close', () => this.emit('exit', 0))
    void this.#run(program, data, port2)
  }

  postMessage(message: unknown): void {
    this.#own.postMessage(message)
  }

  async terminate(): Promise<void> {
    for (const port of [...this.#ports, this.#own]) port.close()
  }

  async #run({ href }: URL, data: object, port: MessagePort): Promise<void> {
    const { run } = (await import(href)) as Program
    try {
      await run(data, port)
    } catch (error) {
      this.emit('error', error)
      await this.terminate()
    }
  }
}

export const startInline: StartThread = (program, data) => new InlineThread(program, data)
