// Numbers in texts for people.

/** `113,924`. */
export function grouped(number: number): string {
  return number.toLocaleString('en-US')
}
