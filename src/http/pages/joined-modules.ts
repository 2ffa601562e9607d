// Joins the modules that a page needs at once into one script: by themselves each is a request, and
// round trips are most of the time of a first visit. Text is enough for that, as all modules are of
// one form: imports by name, and declarations that are exported. Each becomes a function, so equal
// names in two of them do not meet.
//
// What is imported only later stays a module of its own. It takes what it shares with the page from
// the one script: a second instance would have a state of its own.

import { readFile } from 'node:fs/promises'

const IMPORT = /^import \{([^}]*)\} from '\.\/([\w-]+\.js)'$/gm
const LATER = /\bimport\('\.\/([\w-]+\.js)'\)/g
const EXPORT = /^export ((?:async )?(?:function\*?|class|const) (\w+))/gm
const OTHER_FORM = /^(?:import|export)\b.*/m
/** Lines of their own, in modules and style sheets. */
export const COMMENT = /^ *(?:\/\/.*|\/\*(?:[^*]|\*(?!\/))*\*\/)\n/gm

/**
 * @param entry the page's first module; the others are beside it
 * @returns scripts by their names, the joined one with that of `entry`
 * @throws when one of them imports or exports in another form
 */
export async function joinModules(entry: URL): Promise<ReadonlyMap<string, string>> {
  const name = entry.pathname.replace(/^.*\//, '')
  const joined = new Map<string, string>()
  const later = new Map<string, string>()
  // Comments would be a sixth of what a first visit loads.
  const read = async (other: string) =>
    (await readFile(new URL(other, entry), 'utf8')).replaceAll(COMMENT, '')
  await collect(name, { into: joined, read, next: importedBy })
  const next = (text: string) =>
    [...importedBy(text), ...laterOf(text)].filter((other) => !joined.has(other))
  for (const other of [...joined.values()].flatMap(next)) {
    await collect(other, { into: later, read, next })
  }
  const shared = [...joined.keys()].map(variableOf).join(', ')
  const functions = Array.from(joined, ([module, text]) => functionOf(module, text))
  const whole = `${functions.join('\n')}\nexport { ${shared} }\n`
  const rest = Array.from(later, ([module, text]): [string, string] => {
    return [module, takeShared(text, { module, joined, from: name })]
  })
  return new Map([[name, whole], ...rest])
}

interface Collecting {
  readonly into: Map<string, string>
  readonly read: (name: string) => Promise<string>
  /** The modules that come with one. */
  readonly next: (text: string) => readonly string[]
}

/** Adds a module, after those that it needs. */
async function collect(name: string, collecting: Collecting): Promise<void> {
  const { into, read, next } = collecting
  if (into.has(name)) return
  const text = await read(name)
  for (const other of next(text)) await collect(other, collecting)
  into.set(name, text)
}

function importedBy(text: string): string[] {
  return Array.from(text.matchAll(IMPORT), ([, , name = '']) => name)
}

function laterOf(text: string): string[] {
  return Array.from(text.matchAll(LATER), ([, name = '']) => name)
}

/** A module as a function that returns what it exports. */
function functionOf(name: string, text: string): string {
  const exported = Array.from(text.matchAll(EXPORT), ([, , declared]) => declared)
  const body = text.replaceAll(IMPORT, declaration).replaceAll(EXPORT, '$1')
  refuseOtherForm(name, body)
  return `const ${variableOf(name)} = (() => {\n${body}return { ${exported.join(', ')} }\n})()`
}

function takeShared(
  text: string,
  { module, joined, from }: { module: string; joined: ReadonlyMap<string, string>; from: string },
): string {
  refuseOtherForm(module, text.replaceAll(IMPORT, '').replaceAll(EXPORT, ''))
  return text.replaceAll(IMPORT, (statement, names: string, name: string) => {
    if (!joined.has(name)) return statement
    return `import { ${variableOf(name)} } from './${from}'\n${declaration(statement, names, name)}`
  })
}

function declaration(_statement: string, names: string, name: string): string {
  return `const {${names.replaceAll(' as ', ': ')}} = ${variableOf(name)}`
}

/** In another style than any name in the modules. */
function variableOf(name: string): string {
  return name.replaceAll(/\W/g, '_')
}

function refuseOtherForm(name: string, text: string): void {
  const [statement] = OTHER_FORM.exec(text) ?? []
  if (statement !== undefined) throw new Error(`${name} cannot be joined with others: ${statement}`)
}
