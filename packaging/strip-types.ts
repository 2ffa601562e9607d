// TypeScript → JavaScript of the same lines, for where Node does not strip types itself.

import { stripTypeScriptTypes } from 'node:module'

/** The ending in `'./x.ts'`, whether it is imported or started as a thread. */
const ENDING = /(?<=(['`])\.{1,2}\/[^'`\n]*)\.ts(?=\1)/g

/** Every line and column stays where it is in the source, but for what follows an import's name. */
export function stripTypes(source: string): string {
  return pointToJavaScript(stripTypeScriptTypes(source))
}

/** Names the `.js` beside each `.ts` that a source refers to by a relative path. */
export function pointToJavaScript(source: string): string {
  return source.replace(ENDING, '.js')
}
