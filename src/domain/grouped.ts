// Numbers in texts for people.

/** `113,924`. */
export function grouped(number: number): string {
  return number.toLocaleString('en-US')
}

/** `1 sensor`, `13 sensors`, `113,924 measurements`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`
}
