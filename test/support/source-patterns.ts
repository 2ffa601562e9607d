// Every regular expression that sources and schemas contain.

import { parseSync, Visitor } from 'oxc-parser'
import { lineAt } from './source-tree.ts'
import type { SourceFile } from './source-tree.ts'

export interface FoundPattern {
  /** `path:line` */
  readonly place: string
  readonly pattern: RegExp
}

/** Literals, and what is made of a template, with a letter for each of its parts. */
export function patternsOfSource({ path, text }: SourceFile): FoundPattern[] {
  const found: FoundPattern[] = []
  const note = (start: number, source: string, flags: string) => {
    const pattern = new RegExp(source, flags)
    found.push({ place: `${path}:${lineAt(text, start)}`, pattern })
  }
  const visitor = new Visitor({
    Literal(node) {
      if ('regex' in node) note(node.start, node.regex.pattern, node.regex.flags)
    },
    NewExpression({ callee, arguments: [source] }) {
      if (callee.type !== 'Identifier' || callee.name !== 'RegExp') return
      if (source?.type !== 'TemplateLiteral') return
      note(source.start, source.quasis.map(({ value }) => value.cooked).join('x'), '')
    },
  })
  visitor.visit(parseSync(path, text).program)
  return found
}

/** As Ajv compiles them. */
export function patternsOfSchema({ path, text }: SourceFile): FoundPattern[] {
  return [...text.matchAll(/"pattern": ("(?:[^"\\]|\\.)*")/g)].map(({ 1: source = '', index }) => ({
    place: `${path}:${lineAt(text, index)}`,
    pattern: new RegExp(JSON.parse(source) as string, 'u'),
  }))
}
