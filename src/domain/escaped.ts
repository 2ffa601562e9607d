// Texts of callers that reach a terminal, of which none may do more there than be read.

/** Control characters, those that change the direction of text, separators, and lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu

/** With `\uXXXX`, as in JSON, for whatever a terminal might treat as more than text. */
export function escaped(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
