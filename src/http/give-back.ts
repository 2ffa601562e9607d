// Giving memory back when it is known that nobody needs it any more. What has waited, for the rest
// of a body or for a commit, would only be found by a collection of everything, and hundreds of
// connections leave a hundred megabytes by then.

/** Nothing may read the bytes afterwards, and nothing but JavaScript may ever have held them. */
export function giveBack({ buffer, length }: Buffer): void {
  // What is smaller may share its memory with others.
  const isAlone = length > Buffer.poolSize && length === buffer.byteLength
  if (isAlone && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
