// Bytes as a broken sender or a broken line makes them.

/** Bytes changed, taken out and put in, the same for the same seed. */
export function mutated(bytes: Buffer, seed: number): Buffer {
  let state = seed + 1
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const list = [...bytes]
  const special = [...Buffer.from('\\", =\n\0#iu-.e\xff', 'latin1')]
  for (let change = random(4) + 1; change > 0; change--) {
    const at = random(list.length)
    const byte = random(2) === 0 ? (special[random(special.length)] ?? 0) : random(256)
    list.splice(at, random(2), ...(random(3) === 0 ? [] : [byte]))
  }
  return Buffer.from(list)
}
