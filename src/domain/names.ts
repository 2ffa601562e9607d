// What people call sensors, tokens and themselves. A name is seen by others, so it has something to
// see, and nothing that hides what it is or turns around the text that it stands in.

import { nameCharactersMax } from './limits.ts'

/** Control characters, and those that override the direction of text. Joiners are of emoji. */
const UNFIT = '\\p{Cc}\\u202A-\\u202E\\u2066-\\u2069'
const HAS_UNFIT = new RegExp(`[${UNFIT}]`, 'u')
/** Half of a surrogate pair too. */
const ALL_UNFIT = new RegExp(`[${UNFIT}\\p{Cs}]`, 'gu')
const SPACING_CONTROLS = /[\t-\r\x85]/g
/** Letters, digits and marks of ASCII, at most `nameCharactersMax`: most names. */
const USUAL = /^[ -~]{0,128}$/
const VISIBLE = /[^\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u

interface NameFault {
  /** As in the schemas, or of our own. */
  readonly code: 'lone_surrogate' | 'maxLength' | 'pattern'
  readonly detail: string
}

/** What is wrong with a name, `undefined` if nothing is. */
export function nameFault(trimmed: string): NameFault | undefined {
  if (!trimmed.isWellFormed()) {
    return { code: 'lone_surrogate', detail: 'must be well-formed Unicode' }
  }
  if (!hasAtMost(nameCharactersMax, trimmed)) {
    return { code: 'maxLength', detail: `must have at most ${nameCharactersMax} characters` }
  }
  if (HAS_UNFIT.test(trimmed)) {
    const detail = 'must not have control characters, nor any that override the direction of text'
    return { code: 'pattern', detail }
  }
  if (!VISIBLE.test(trimmed)) return { code: 'pattern', detail: 'must have a visible character' }
  return undefined
}

/** A name made of what cannot be refused: without its faults, `''` if nothing is left of it. */
export function tidyName(text: string): string {
  if (USUAL.test(text)) return text.trim()
  const fit = text.replaceAll(SPACING_CONTROLS, ' ').replaceAll(ALL_UNFIT, '').trim()
  const name = Array.from(fit).slice(0, nameCharactersMax).join('').trimEnd()
  return VISIBLE.test(name) ? name : ''
}

/** Whether a text has at most this many code points; does not count a very long one to its end. */
export function hasAtMost(codePointsMax: number, text: string): boolean {
  return text.length <= 2 * codePointsMax && Array.from(text).length <= codePointsMax
}
