// Some of the keys of a group, one after the other in memory, with their places in the group.

import { KEY_WORDS } from '../event-key.ts'

export class KeyList {
  words = new Uint32Array(0)
  #places = new Int32Array(0)
  count = 0

  /** @param countMax as many are going to be added at most */
  clear(countMax: number): void {
    this.count = 0
    if (countMax <= this.#places.length) return
    this.words = new Uint32Array(countMax * KEY_WORDS)
    this.#places = new Int32Array(countMax)
  }

  add(keys: Uint32Array, place: number): void {
    this.#put(keys, place, place)
  }

  /** Takes out those whose places in the group are known to `found`. */
  removeFound(found: { has(place: number): boolean }): void {
    const { count } = this
    this.count = 0
    for (let at = 0; at < count; at++) {
      const place = this.placeOf(at)
      if (!found.has(place)) this.#put(this.words, at, place)
    }
  }

  #put(words: Uint32Array, from: number, place: number): void {
    const at = this.count++
    for (let word = 0; word < KEY_WORDS; word++) {
      this.words[at * KEY_WORDS + word] = words[from * KEY_WORDS + word] ?? 0
    }
    this.#places[at] = place
  }

  /** The place in the group of the key at a place in this list. */
  placeOf(at: number): number {
    return this.#places[at] ?? 0
  }
}
