// Frees memory as soon as nobody needs it. Memory that has waited, for the rest of a body or for a
// commit, would only be freed by a full garbage collection, and so would megabytes read as small
// objects: a hundred megabytes pile up by then.

const WORTH_BYTES_MIN = 2_048

/** Nothing may read the bytes afterwards, and nothing but JavaScript may ever have held them. */
export function giveBack({ buffer, length }: Buffer): void {
  // Otherwise it is part of memory shared with other buffers.
  const isAlone = length >= WORTH_BYTES_MIN && length === buffer.byteLength
  if (isAlone && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
