// The event ids of a batch as JSON texts, in one piece of memory. The receipt needs nothing else of
// a batch that waits for its commit, and the garbage collector would keep moving thousands of
// waiting strings.

import { JsonBytes } from './json-bytes.ts'
import { batchElementsMax } from '../body/validate.ts'
import { asciiBytes, WideBytes } from './wide-bytes.ts'

const NONE = asciiBytes('null')

export class EventIdTexts {
  readonly texts: WideBytes
  /** Where each element's text ends and the next one begins. */
  readonly #stops: Uint32Array

  constructor(texts: WideBytes, stops: Uint32Array) {
    this.texts = texts
    this.#stops = stops
  }

  startOf(index: number): number {
    return index === 0 ? 0 : this.stopOf(index - 1)
  }

  stopOf(index: number): number {
    return this.#stops[index] ?? 0
  }

  /** An element's event id; `null` if it has none. */
  at(index: number): string | null {
    const text = this.texts.bytes.toString('utf8', this.startOf(index), this.stopOf(index))
    return text === '' ? null : (JSON.parse(text) as string | null)
  }
}

/** Gathers the texts of a batch, element by element. */
export class EventIdTextsWriter {
  readonly #json = new JsonBytes()
  readonly #stops = new Uint32Array(batchElementsMax)
  #count = 0

  /** Discards everything gathered. */
  clear(): void {
    this.#json.clear()
    this.#count = 0
  }

  add(eventId: string | null): void {
    if (eventId === null) this.#json.write(NONE)
    else this.#json.writeString(eventId)
    this.#stops[this.#count++] = this.#json.length
  }

  /** Adds an event id as it appears in a JSON text, with its quotes. */
  addText(source: WideBytes, start: number, stop: number): void {
    this.#json.write(source, start, stop)
    this.#stops[this.#count++] = this.#json.length
  }

  /** Everything gathered; the next batch begins empty. */
  take(): EventIdTexts {
    const stops = this.#stops.slice(0, this.#count)
    this.#count = 0
    return new EventIdTexts(new WideBytes(this.#json.take()), stops)
  }
}
