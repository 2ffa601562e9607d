// Giving memory back when it is known that nobody needs it any more. What has waited, for the rest
// of a body or for a commit, would only be found by a collection of everything, and so would what
// is read by the megabyte in small objects: a hundred megabytes are left by then.

const WORTH_BYTES_MIN = 2_048

/** Nothing may read the bytes afterwards, and nothing but JavaScript may ever have held them. */
export function giveBack({ buffer, length }: Buffer): void {
  // Else it is a part of memory that others have as well.
  const isAlone = length >= WORTH_BYTES_MIN && length === buffer.byteLength
  if (isAlone && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
