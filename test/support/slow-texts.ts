// Texts on which a regular expression is slow if any make it so: what leads to one of its
// repetitions, 100,000 characters that repeat it, and an end that it does not expect, so that it
// tries every other way to divide them.

import { RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'
import type { AST } from '@eslint-community/regexpp'

const LENGTH = 100_000
const SAMPLES_MAX = 5
const ENDS = ['', '\0', '\n!']
const COMMON = [...'aA0 \t\n_-.,:;"\'\\/*=<>()[]{}|&%#$@é']
const CHARACTERS = [
  ...COMMON,
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
]

/** Each of them of about 100,000 characters. */
export function* slowTexts({ source, flags }: RegExp): Generator<string> {
  for (const { before, repeated } of repetitions(source, flags)) {
    const text = before + repeated.repeat(LENGTH / repeated.length)
    for (const end of ENDS) yield text + end
  }
}

interface Repetition {
  readonly before: string
  readonly repeated: string
}

function repetitions(source: string, flags: string): Repetition[] {
  const found: Repetition[] = []
  const samples = new Samples(flags)
  const pattern = new RegExpParser().parsePattern(source, undefined, undefined, {
    unicode: flags.includes('u'),
    unicodeSets: flags.includes('v'),
  })
  visitRegExpAST(pattern, {
    onQuantifierEnter(quantifier) {
      if (quantifier.max < LENGTH) return
      const before = samples.before(quantifier)
      const once = samples.of(quantifier.element).filter((text) => text !== '')
      const [first = ''] = once
      for (const text of once) found.push({ before, repeated: text })
      for (const text of once.slice(1)) found.push({ before, repeated: first + text })
    },
  })
  // One that repeats nothing looks at each character a few times.
  if (found.length === 0) return []
  return [...COMMON.map((repeated) => ({ before: '', repeated })), ...found]
}

/** Short texts that a part of a pattern matches. */
class Samples {
  readonly #flags: string

  constructor(flags: string) {
    this.#flags = flags.replaceAll(/[gy]/g, '')
  }

  /** What leads to a part. */
  before(node: AST.Node): string {
    const { parent } = node
    if (parent === null) return ''
    if (parent.type !== 'Alternative') return this.before(parent)
    const earlier = parent.elements.slice(0, parent.elements.indexOf(node as AST.Element))
    return this.before(parent) + earlier.map((element) => this.of(element)[0] ?? '').join('')
  }

  of(node: AST.Element): string[] {
    switch (node.type) {
      case 'Character':
        return [String.fromCodePoint(node.value)]
      case 'CharacterSet':
      case 'CharacterClass':
      case 'ExpressionCharacterClass':
        return this.#charactersOf(node.raw)
      case 'Group':
      case 'CapturingGroup':
        return few(node.alternatives.flatMap(({ elements }) => this.#ofAll(elements)))
      case 'Quantifier':
        return this.of(node.element).map((text) => text.repeat(node.min))
      case 'Assertion':
      case 'Backreference':
        break
    }
    return ['']
  }

  /** One after the other, each time with another sample of one of them. */
  #ofAll(elements: readonly AST.Element[]): string[] {
    const all = elements.map((element) =>
      element.type === 'Quantifier' && element.min === 0
        ? ['', ...this.of(element.element)]
        : this.of(element),
    )
    const firsts = all.map(([first = '']) => first)
    const others = all.flatMap((samples, at) =>
      samples.slice(1).map((sample) => firsts.with(at, sample).join('')),
    )
    return few([firsts.join(''), ...others])
  }

  #charactersOf(raw: string): string[] {
    const pattern = new RegExp(`^${raw}$`, this.#flags)
    return few(CHARACTERS.filter((character) => pattern.test(character)))
  }
}

function few(texts: readonly string[]): string[] {
  return [...new Set(texts)].slice(0, SAMPLES_MAX)
}
