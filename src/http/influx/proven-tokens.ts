// Which tokens have stored a temperature by line protocol: a body without one is no mistake of
// theirs.

import type { RefusedReader, RefusedWriter } from '../../ports/refused.ts'

/** Those that are forgotten are asked for again. */
const KNOWN_MAX = 20_000

export class ProvenTokens {
  readonly #writer: Pick<RefusedWriter, 'noteStoredLines'>
  readonly #reader: Pick<RefusedReader, 'hasStoredLines'>
  /** As far as it was asked. */
  readonly #known = new Set<number>()

  constructor(
    writer: Pick<RefusedWriter, 'noteStoredLines'>,
    reader: Pick<RefusedReader, 'hasStoredLines'>,
  ) {
    this.#writer = writer
    this.#reader = reader
  }

  async has(tokenId: number): Promise<boolean> {
    if (this.#known.has(tokenId)) return true
    if (!(await this.#reader.hasStoredLines(tokenId))) return false
    this.#keep(tokenId)
    return true
  }

  /** Resolves when it is on disk. */
  async note(tokenId: number): Promise<void> {
    if (await this.has(tokenId)) return
    await this.#writer.noteStoredLines(tokenId)
    this.#keep(tokenId)
  }

  #keep(tokenId: number): void {
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.add(tokenId)
  }
}
