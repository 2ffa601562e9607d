// Circles of imports, among files and among folders.

import { importsOf } from './source-tree.ts'
import type { SourceFile } from './source-tree.ts'

/** What each file imports. */
export function fileTargets(sources: readonly SourceFile[]): Map<string, string[]> {
  return new Map(
    sources.map((file) => [file.path, importsOf(file).flatMap(({ target }) => target ?? [])]),
  )
}

/** What the files of each folder import from others; each file of src/ itself is its own room. */
export function folderTargets(sources: readonly SourceFile[]): Map<string, string[]> {
  const folderOf = (path: string) => {
    const folder = path.slice(0, path.lastIndexOf('/'))
    return folder === 'src' ? path : folder
  }
  const targets = new Map<string, string[]>()
  for (const [path, imported] of fileTargets(sources)) {
    const folder = folderOf(path)
    const others = imported.map(folderOf).filter((other) => other !== folder)
    targets.set(folder, [...(targets.get(folder) ?? []), ...others])
  }
  return targets
}

/** Every circle that is found, as a violation. */
export function cyclesOf(targets: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start !== -1) {
      const circle = [...trail.slice(start), path].join(' → ')
      found.push(`${path}:1: cycle: ${circle}: move what both need into a third file`)
    }
    if (start !== -1 || done.has(path)) return
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of targets.keys()) visit(path, [])
  return found
}
