// Bytes as a broken sender or a broken line makes them.

import { Seeded } from './seeded.ts'

/** Bytes changed, taken out and put in, the same for the same seed. */
export function mutated(bytes: Buffer, seed: number): Buffer {
  const random = new Seeded(seed)
  const list = [...bytes]
  const special = [...Buffer.from('\\", =\n\0#iu-.e\xff', 'latin1')]
  for (let change = random.below(4) + 1; change > 0; change--) {
    const at = random.below(list.length)
    const byte = random.isOneIn(2) ? random.one(special) : random.below(256)
    list.splice(at, random.below(2), ...(random.isOneIn(3) ? [] : [byte]))
  }
  return Buffer.from(list)
}
