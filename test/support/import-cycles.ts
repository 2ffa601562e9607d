// Circles of imports, among files and among folders.

import { importsOf } from './source-tree.ts'
import type { SourceFile } from './source-tree.ts'

/** What each file imports. */
export function fileTargets(sources: readonly SourceFile[]): Map<string, string[]> {
  return new Map(
    sources.map((file) => [file.path, importsOf(file).flatMap(({ target }) => target ?? [])]),
  )
}

/** A folder, or a file that lies beside folders, with what its files import from others. */
export function folderTargets(sources: readonly SourceFile[]): Map<string, string[]> {
  const parentOf = (path: string) => path.slice(0, path.lastIndexOf('/'))
  const withFolders = new Set(sources.map(({ path }) => parentOf(parentOf(path))))
  const folderOf = (path: string) => (withFolders.has(parentOf(path)) ? path : parentOf(path))
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
