// What ends the help of every command: a line to copy.

/** Text to put after a command's help. */
export function example(line: string): string {
  return `\nExample:\n  ${line}`
}
