// Goal: the pictures of docs/architecture.md name every file that one must read to follow a path.
// Method: the numbered files are read off the pictures, and each must be one that a file before it
// imports, or that imports it: a file put between them is found missing. Two sides of a port may
// meet at the port, two threads (after a dotted line) at what the picture says they share. The map,
// src/README.md, is held against the folders.

import { expect } from 'chai'
import { fileTargets } from '../support/import-cycles.ts'
import { readRepository } from '../support/source-tree.ts'

interface Numbered {
  readonly number: number
  readonly path: string
  /** Whether it is a branch: the last file that is none calls it. */
  readonly isBranch: boolean
  /** What another thread passes on to it. */
  readonly carriers: readonly string[]
}

interface Picture {
  readonly title: string
  readonly numbered: readonly Numbered[]
}

const DOCUMENT = 'docs/architecture.md'
const files = readRepository()
const targets = fileTargets(files.filter(({ path }) => /^src\/.*\.ts$/.test(path)))
const text = files.find(({ path }) => path === DOCUMENT)?.text ?? ''
const pictures = [...text.matchAll(/^```text\n([\s\S]*?)^```/gm)]
  .map(([, picture = '']) => read(picture))
  .filter(({ numbered }) => numbered.length > 0)

function read(picture: string): Picture {
  const lines = picture.split('\n')
  const numbered: Numbered[] = []
  let crossed: readonly string[] = []
  for (const [at, line] of lines.entries()) {
    const [, number, path] = /^ *(\d+) [ │├└─]*([a-z][\w/-]*\.ts)/.exec(line) ?? []
    if (line.includes('┊')) crossed = namesIn(lines[at - 1] ?? '')
    if (path === undefined) continue
    const isBranch = /[├└]/.test(line)
    numbered.push({ number: Number(number), path: `src/${path}`, isBranch, carriers: crossed })
    crossed = []
  }
  return { title: lines[0]?.trim().split(/ {2,}/).slice(0, 2).join(' ') ?? '', numbered }
}

/** What is named beside the file of a line: `(group-frame)`. */
function namesIn(line: string): readonly string[] {
  return [...line.matchAll(/\(([a-z-]+)\)/g)].map(([, name = '']) => name)
}

/** The numbered files of a picture, after those of the first one that it goes on from. */
function wholePath({ numbered }: Picture): readonly Numbered[] {
  const first = numbered[0]?.number ?? 1
  return [
    ...(pictures[0]?.numbered.filter(({ number }) => number < first && first > 3) ?? []),
    ...numbered,
  ]
}

function areLinked(one: string, { path: other, carriers }: Numbered): boolean {
  const ofOne = targets.get(one) ?? []
  const ofOther = targets.get(other) ?? []
  if (ofOne.includes(other) || ofOther.includes(one)) return true
  return ofOne.some((target) => ofOther.includes(target) && isMeetingPoint(target, carriers))
}

function isMeetingPoint(path: string, carriers: readonly string[]): boolean {
  const name = path.replace(/^.*\/|\.ts$/g, '')
  // Clock, log and metrics are met everywhere.
  return carriers.includes(name) || (path.startsWith('src/ports/') && name !== 'system')
}

describe('the pictures of the paths', () => {
  it('are found', () => {
    expect(pictures).to.have.length.greaterThan(4)
  })

  for (const picture of pictures) {
    it(`number files that are there, one after another: ${picture.title}`, () => {
      const path = wholePath(picture)
      expect(path.filter((file) => !targets.has(file.path))).to.deep.equal([])
      const numbers = path.map(({ number }) => number)
      expect(numbers).to.deep.equal(numbers.map((_, at) => (numbers[0] ?? 0) + at))
    })

    it(`leave out nothing between their files: ${picture.title}`, () => {
      const path = wholePath(picture)
      const lost = path.filter((file, at) => {
        const before = file.isBranch
          ? path
              .slice(0, at)
              .filter(({ isBranch }) => !isBranch)
              .slice(-1)
          : path.slice(0, at)
        return at > 0 && !before.some((earlier) => areLinked(earlier.path, file))
      })
      expect(lost).to.deep.equal([])
    })
  }
})

describe('the map', () => {
  it('has every room', () => {
    const map = files.find(({ path }) => path === 'src/README.md')?.text ?? ''
    const rooms = files.flatMap(({ path }) => /^src\/([a-z-]+)\/.*\.[jt]s$/.exec(path)?.[1] ?? [])
    const lost = [...new Set(rooms)].filter(
      (room) => !new RegExp(`^- .*\`${room}/\``, 'm').test(map),
    )
    expect(lost).to.deep.equal([])
  })
})
