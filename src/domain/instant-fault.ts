// What keeps a text from being an instant, in words for whoever made it.

/** Longer ones are not looked at; an instant has at most 35. */
const CHARACTERS_MAX = 64

const FAULTS: readonly (readonly [form: RegExp, fault: string])[] = [
  [/^[+-]?\d+(?:\.\d*)?$/, 'a time is text, not a Unix time'],
  [/^\d{1,2}[-./]\d{1,2}[-./]\d/, 'the year comes first'],
  [/^\d{4}(?:[./]|\d{4}T)/i, 'a date has hyphens'],
  [/^\d{4}-\d{2}-\d{2}$/, 'the time of day is missing'],
  [/^[-./\d]{8,10}[ _]\d/, 'a T stands between date and time'],
  [/[T _]\d{1,2}:\d{2}(?![\d:])/i, 'the seconds are missing'],
  [/:\d{2},\d/, 'a fraction has a point'],
  [
    /[T _]\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d*)?$/i,
    'the zone is missing, add Z or an offset such as +01:00',
  ],
  [/:\d{2}(?:\.\d*)? *[+-]\d{2}(?:\d{2})?$/, 'an offset has a colon, as in +01:00'],
  [/\d [+Z-]/i, 'no blank stands before the zone'],
  [/:\d{2}(?:\.\d*)? *[a-z]{2,}$/i, 'a zone is Z or an offset such as +01:00, no name'],
]

const WHOLE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i

/**
 * All that can be named, in one line without the text itself.
 *
 * @param text that `parseInstant` does not take
 * @returns `undefined` if nothing has a name
 */
export function instantFault(text: string): string | undefined {
  if (text.length > CHARACTERS_MAX) return undefined
  const found = FAULTS.filter(([form]) => form.test(text)).map(([, fault]) => fault)
  if (found.length === 0 && WHOLE.test(text)) return 'there is no such day or time of day'
  return found.length === 0 ? undefined : found.join('; ')
}
