// Reads what people type as options and arguments. Errors have one form: what was given, what would
// be right, where to find it. Every command's help ends with an example to copy.

import { readDuration } from '../config-values.ts'
import { parseInstant } from '../domain/time.ts'
import { usage } from '../operations/operations.ts'

/** @returns a reader of one id. @param seeAlso the command that lists ids of this kind */
export function idReader(seeAlso: string): (text: string) => number {
  return (text) => {
    if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
    throw usage(
      `${JSON.stringify(text)} is not a valid id`,
      `Ids are positive integers; \`${seeAlso}\` lists them.`,
    )
  }
}

/** @returns a reader of repeated ids. @param seeAlso see `idReader` */
export function idsReader(seeAlso: string) {
  const read = idReader(seeAlso)
  return (text: string, before: readonly number[] = []): readonly number[] => [
    ...before,
    read(text),
  ]
}

/** The ids given to a command, none for `--all`. @param command for the message */
export function chooseIds(
  command: string,
  ids: readonly number[],
  { all }: { readonly all?: boolean },
): { ids?: readonly number[] } {
  if (all === true && ids.length === 0) return {}
  if (all !== true && ids.length > 0) return { ids }
  const problem = all === true ? '--all and ids exclude each other' : 'no id is named'
  const list = command.replace(/ .*/, ' list')
  const hint = `Name ids from \`thermolog ${list}\`, or use: thermolog ${command} --all`
  throw usage(problem, hint)
}

/** @returns a reader of a number of things, at least 1. @param option for the message */
export function countReader(option: string): (text: string) => number {
  return (text) => {
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
    throw usage(`${option} must be a positive integer, not ${JSON.stringify(text)}`)
  }
}

/** @returns a reader of a duration. @param option for the message */
export function durationReader(option: string): (text: string) => number {
  return (text) => {
    try {
      return readDuration(text)
    } catch (error) {
      throw usage(`${option} ${(error as Error).message}, not ${JSON.stringify(text)}`)
    }
  }
}

/** @returns a reader of an instant; a date means midnight UTC. @param option see above */
export function timeReader(option: string): (text: string) => number {
  return (text) => {
    const atMs = parseInstant(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text)
    if (atMs !== undefined) return atMs
    throw usage(
      `${option} ${JSON.stringify(text)} is not a valid time`,
      'Examples: 2026-11-20T10:15:00Z, 2026-11-20T11:15:00+01:00, or 2026-11-20 for midnight UTC.',
    )
  }
}

/** @returns a reader of one of these words. @param option see above */
export function choiceReader<T extends string>(
  option: string,
  choices: readonly T[],
): (text: string) => T {
  return (text) => {
    const choice = choices.find((known) => known === text)
    if (choice !== undefined) return choice
    throw usage(`${option} must be one of ${choices.join(', ')}, not ${JSON.stringify(text)}`)
  }
}

/** @returns a reader of a number. @param option see above */
export function numberReader(option: string): (text: string) => number {
  return (text) => {
    if (/^[+-]?(\d+(\.\d*)?|\.\d+)$/.test(text)) return Number(text)
    throw usage(`${option} must be a number such as -0.4, not ${JSON.stringify(text)}`)
  }
}

/** Text to append to a command's help. */
export function example(line: string): string {
  return `\nExample:\n  ${line}`
}
