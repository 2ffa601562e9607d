// The house rules. Goal: what the style asks for stays true without anyone having to remember it.
// Method: read every file once and name each place that breaks a rule: `file:line: rule: remedy`.

import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { cyclesOf, fileTargets, folderTargets } from './support/import-cycles.ts'
import { CORE, HOME, MAY_IMPORT } from './support/rooms.ts'
import { findLines, importsOf, lineAt, readRepository } from './support/source-tree.ts'
import type { SourceFile } from './support/source-tree.ts'

/** Rooms of rules alone: they reach disk, network and processes through ports. */
const PURE_ROOMS = new Set([
  'bytes',
  'domain',
  'ports',
  'control',
  'line-protocol',
  'operations',
  ...CORE,
])
const OUTSIDE_WORLD = /^node:(fs|http|https|net|tls|dgram|child_process|worker_threads|os)\b/

interface BannedWord {
  readonly pattern: RegExp
  readonly instead: string
  /** Files that may use it. */
  readonly except?: RegExp
}

const BANNED_IN_SOURCES: readonly BannedWord[] = [
  {
    pattern: /\bDate\.now\(|new Date\(\)|\bperformance\.now\(/,
    instead: 'take a Clock: clock.nowMs() or clock.monotonicMs()',
    except: /^src\/(system\/clock\.ts|web\/clock\.js)$/,
  },
  {
    pattern: /\bprocess\.env\b/,
    instead: 'read it in config-environment.ts and pass the value',
    except: /^src\/(config-environment\.ts|thermolog\.js|openapi\/samples\.ts)$/,
  },
  {
    pattern: /\bconsole\./,
    instead: 'take a Log',
    except: /^src\/(system\/log\.ts$|openapi\/samples\.ts$|cli\/)/,
  },
  {
    pattern: /\b(req|request)\.(read|on|iterator)\(|\brawBody\b|\b(ctx\.)?request\.body\b/,
    instead: 'bodies come in through http/body/gate.ts',
    except: /^src\/(http\/body\/|oidc\/)/,
  },
  {
    pattern: /\.catch\(\(\w*\) => (\{\s*\}|undefined|null)\)|catch (\(\w+\) )?\{\s*\}/,
    instead: 'handle the failure, or let it pass',
  },
]

const BANNED_EVERYWHERE: readonly BannedWord[] = [
  { pattern: / as any\b/, instead: 'say the type, or check it' },
  { pattern: /@ts-(ignore|nocheck|expect-error)/, instead: 'make the types right' },
  { pattern: /\b(FIX[M]E|TO[D]O|XX[X])\b/, instead: 'do it, or open an issue' },
  { pattern: /\b(it|describe)\.only\(/, instead: 'let every test run' },
  { pattern: /\bdebugger\b/, instead: 'take it out' },
  {
    pattern: /\.skip\(/,
    instead: 'leaveOut() says at the end of the run what is missing',
    except: /^(src\/|test\/support\/left-out\.ts$)/,
  },
  {
    pattern: /\b(function|const|let) until\b/,
    instead: 'wait with the one of test/support/until.ts',
    except: /^test\/support\/until\.ts$/,
  },
]

const MACHINE_PATH = /(^|[\s'"`(=:])\/(work|root|home|Users|mnt|tmp)\//
const GENERATED = new Set(['schemas/messages.d.ts'])
/** By code points; what names an address may be longer. */
const LONG_LINE = /^(?!.*https?:\/\/).{101,}$/u
const FILE_LINES_MAX = 400

const files = readRepository()
const code = files.filter(({ path }) => /\.(ts|js)$/.test(path) && !GENERATED.has(path))
const sources = files.filter(({ path }) => /^src\/.*\.(ts|js)$/.test(path))
const markdown = files.filter(({ path }) => path.endsWith('.md'))
const schemas = files.filter(({ path }) => /^schemas\/.*\.json$/.test(path))

function roomOf(path: string): string {
  if (path.startsWith('schemas/')) return 'schemas'
  if (path === 'package.json') return 'package'
  const parts = path.split('/')
  return parts.length > 2 ? (parts[1] ?? '') : (parts[1] ?? '').replace(/\.(ts|js)$/, '')
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

function expectNone(violations: readonly string[]): void {
  expect(violations.length, `\n${violations.join('\n')}\n`).to.equal(0)
}

function bannedIn(where: readonly SourceFile[], words: readonly BannedWord[]): string[] {
  return words.flatMap(({ pattern, instead, except }) =>
    where
      .filter(({ path }) => except?.test(path) !== true && path !== 'test/tidy.test.ts')
      .flatMap((file) => findLines(file, pattern))
      .map((place) => `${place}: banned word ${String(pattern)}: ${instead}`),
  )
}

describe('the house rules', () => {
  describe('imports', () => {
    it('go only where the direction table allows', () => {
      expectNone(sources.flatMap(wrongDirections))
    })

    it('form no cycle of folders', () => {
      expectNone(cyclesOf(folderTargets(sources)))
    })

    it('form no cycle', () => {
      expectNone(cyclesOf(fileTargets(sources)))
    })

    it('never pass through a barrel', () => {
      const indexes = sources
        .filter(({ path }) => /\/index\.[jt]s$/.test(path))
        .map(({ path }) => `${path}:1: barrel: name the file after what it is`)
      const reexports = sources
        .flatMap((file) => findLines(file, /^export (\*|type \*|(type )?\{[^}]*\}) .*from '/))
        .map((place) => `${place}: barrel: import it from where it is defined`)
      expectNone([...indexes, ...reexports])
    })

    it('take each package only in its own room', () => {
      expectNone(sources.flatMap(strayPackages))
    })

    it('reach every source file', () => {
      const reached = new Set(sources.flatMap(importsOf).map(({ target }) => target))
      const lost = sources.filter(({ path }) => !reached.has(path) && path !== 'src/thermolog.js')
      expectNone(lost.map(({ path }) => `${path}:1: dead file: import it or delete it`))
    })
  })

  describe('text', () => {
    it('uses no banned word', () => {
      const inSources = bannedIn(sources, BANNED_IN_SOURCES)
      expectNone([...inSources, ...bannedIn(code, BANNED_EVERYWHERE)])
    })

    it('has lines of at most 100 characters, addresses excepted', () => {
      const places = code.flatMap((file) => findLines(file, LONG_LINE))
      expectNone(places.map((place) => `${place}: long line: break it`))
    })

    it('has files of at most 400 lines', () => {
      const long = code.filter(({ lines }) => lines.length > FILE_LINES_MAX)
      expectNone(long.map(({ path, lines }) => `${path}:${lines.length}: long file: split it`))
    })

    it('opens every source file with what it is for', () => {
      const bare = sources.filter(({ text }) => !/^(#!.*\n)?(\/\/ |\/\*)/.test(text))
      expectNone(bare.map(({ path }) => `${path}:1: no header comment: say what it is for`))
    })

    it('names no machine and no registry', () => {
      const paths = files
        .filter(({ path }) => path !== 'test/tidy.test.ts')
        .flatMap((file) => findLines(file, MACHINE_PATH))
        .map((place) => `${place}: machine path: use a relative path or os.tmpdir()`)
      const lock = files.filter(({ path }) => path === 'package-lock.json')
      const hosts = lock
        .flatMap((file) => findLines(file, /"resolved": "(?!https:\/\/registry\.npmjs\.org\/)/))
        .map((place) => `${place}: registry host: take "resolved" out of the lock file`)
      expectNone([...paths, ...hosts])
    })
  })

  describe('schemas', () => {
    it('are what the schema of schemas asks for', () => {
      const ajv = new Ajv2020()
      const faults = schemas.flatMap(({ path, text }) => {
        if (ajv.validateSchema(JSON.parse(text) as object) === true) return []
        return [`${path}:1: no valid schema: ${ajv.errorsText()}`]
      })
      expectNone(faults)
    })

    it('are all used', () => {
      const users = files.filter(({ path }) => /\.(ts|json)$/.test(path))
      const isUsed = (schema: SourceFile) => {
        const name = schema.path.replace(/^.*\/|\.json$/g, '')
        const use = new RegExp(`['"/]${name}(\\.json)?['"#]`)
        return users.some((user) => user !== schema && use.test(user.text))
      }
      const unused = schemas.filter((schema) => !isUsed(schema))
      expectNone(unused.map(({ path }) => `${path}:1: unused schema: use it or delete it`))
    })

    it('refer only to what exists', () => {
      expectNone(schemas.flatMap(brokenReferences))
    })
  })

  describe('documents', () => {
    it('name every error code and every setting', () => {
      const documents = markdown
        .filter(({ path }) => path === 'README.md' || path.startsWith('docs/'))
        .map(({ text }) => text)
        .join('\n')
      const named = (name: string) => new RegExp(`(\\b|_)${name}\\b`).test(documents)
      const missing = [...errorCodes(), ...settingKeys()].filter(({ name }) => !named(name))
      expectNone(missing.map(({ name, at }) => `${at}: ${name}: explain it in README.md or docs/`))
    })

    it('have one title each', () => {
      const wrong = markdown.filter(({ text }) => titles(text) !== 1)
      expectNone(wrong.map(({ path }) => `${path}:1: titles: exactly one line starts with "# "`))
    })

    it('draw and name only source files that are there', () => {
      const known = new Set(sources.map(({ path }) => path))
      const named = /(?<![\w./-])((?:[a-z-]+\/)+[a-z-]+\.(?:ts|js))\b/g
      const maps = markdown.filter(({ path }) => /^(docs\/|src\/README)/.test(path))
      const missing = maps.flatMap(({ path, text }) =>
        [...text.matchAll(named)]
          .filter(([, name = '']) => !known.has(`src/${name.replace(/^src\//, '')}`))
          .filter(([, name = '']) => !files.some((file) => file.path === name))
          .map(({ 1: name, index }) => `${path}:${lineAt(text, index)}: ${name} does not exist`),
      )
      expectNone(missing)
    })

    it('are there when something names them', () => {
      const known = new Set(markdown.map(({ path }) => path.replace(/^.*\//, '')))
      const names = /[\w-]+\.md\b/g
      const missing = files
        .filter(({ path }) => path !== 'package-lock.json' && path !== 'test/tidy.test.ts')
        .flatMap(({ path, text }) =>
          [...text.matchAll(names)]
            .filter(([name]) => !known.has(name))
            .map(({ 0: name, index }) => `${path}:${lineAt(text, index)}: ${name} does not exist`),
        )
      expectNone(missing)
    })
  })
})

function titles(text: string): number {
  return text.replace(/^```[\s\S]*?^```/gm, '').match(/^# .+/gm)?.length ?? 0
}

function wrongDirections(file: SourceFile): string[] {
  const room = roomOf(file.path)
  if (room === 'compose') return []
  const allowed = MAY_IMPORT[room]
  if (allowed === undefined) {
    return [`${file.path}:1: unknown room ${room}: give it a line in MAY_IMPORT`]
  }
  return importsOf(file)
    .filter(({ target }) => target !== undefined && !allowed.includes(roomOf(target)))
    .map(({ line, specifier }) => {
      const rule = `${room} may import ${allowed.join(', ')}`
      return `${file.path}:${line}: direction of ${specifier}: ${rule}; take a port instead`
    })
}

function strayPackages(file: SourceFile): string[] {
  const room = roomOf(file.path)
  return importsOf(file)
    .filter(({ target }) => target === undefined)
    .flatMap(({ line, specifier }) => {
      const place = `${file.path}:${line}: package ${specifier}`
      if (specifier.startsWith('node:')) {
        const isStray = PURE_ROOMS.has(room) && OUTSIDE_WORLD.test(specifier)
        return isStray ? [`${place}: take a port instead`] : []
      }
      const home = HOME[packageOf(specifier)]
      if (home === undefined) return [`${place}: say in HOME which room it belongs to`]
      return home.includes(room) ? [] : [`${place}: only in ${home.join(', ')}`]
    })
}

function brokenReferences(schema: SourceFile): string[] {
  return [...schema.text.matchAll(/"\$ref": "([^"#]*)(?:#([^"]*))?"/g)].flatMap((match) => {
    const [, document = '', pointer = ''] = match
    const name = document.replace(/^(https?:\/\/[^/]*|\.{1,2})\//, '').replace(/^(\.\.\/)+/, '')
    const target = document === '' ? schema : schemas.find(({ path }) => path.endsWith(`/${name}`))
    const isThere = target !== undefined && resolvePointer(JSON.parse(target.text), pointer)
    const place = `${schema.path}:${lineAt(schema.text, match.index)}`
    return isThere ? [] : [`${place}: $ref ${document}#${pointer}: nothing is there`]
  })
}

function resolvePointer(document: unknown, pointer: string): boolean {
  let value = document
  for (const part of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return false
    value = (value as Record<string, unknown>)[part]
  }
  return true
}

interface Named {
  readonly name: string
  readonly at: string
}

function namesIn(path: string, pattern: RegExp): Named[] {
  const file = files.find((candidate) => candidate.path === path)
  if (file === undefined) return []
  return [...file.text.matchAll(pattern)].map(({ 1: name = '', index }) => ({
    name,
    at: `${path}:${lineAt(file.text, index)}`,
  }))
}

function errorCodes(): Named[] {
  return namesIn('src/domain/errors.ts', /^ {2}\| '([a-z_]+)'$/gm)
}

function settingKeys(): Named[] {
  const names = namesIn('src/config.ts', /['`]_?([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*)['`]/g)
  return names.filter(({ name }) => !/^E[A-Z]+$/.test(name))
}
