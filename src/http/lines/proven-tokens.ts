// Which tokens have stored a temperature by line protocol: a body without one is no mistake of
// theirs.

import type { RefusedReader, RefusedWriter } from '../../ports/refused.ts'

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
    this.#known.add(tokenId)
    return true
  }

  /** Resolves when it is on disk. */
  async note(tokenId: number): Promise<void> {
    if (await this.has(tokenId)) return
    await this.#writer.noteStoredLines(tokenId)
    this.#known.add(tokenId)
  }
}
