// What is recorded of the nodes of a Citus cluster, as a text: the servers that its workers are,
// and which nodes were noticed to be other servers than before, until a takeover is decided.

/**
 * `group=timeline/system identifier,…`: Citus numbers a worker and its standbys as one group. A
 * node that was noticed has a `!` behind it; the coordinator is only there while it has one.
 */
export type WorkersText = string

/** The group of the coordinator. */
export const COORDINATOR = 0

interface RecordedNode {
  /** Empty for the coordinator, whose server is recorded apart. */
  readonly server: string
  readonly isNoticed: boolean
}

/** A worker as it is. */
export interface FoundServer {
  readonly group: number
  readonly server: string
}

/** The server that is recorded for a group; `undefined`: none is. */
export function serverIn(text: WorkersText, group: number): string | undefined {
  return nodesIn(text).get(group)?.server
}

/** The groups that were noticed. */
export function noticedIn(text: WorkersText): readonly number[] {
  return [...nodesIn(text)].flatMap(([group, { isNoticed }]) => (isNoticed ? [group] : []))
}

/** What is recorded, with workers as they are now, and with others noticed. */
export function recordedWith(
  recorded: WorkersText,
  found: readonly FoundServer[],
  others: readonly number[],
): WorkersText {
  const nodes = new Map(nodesIn(recorded))
  for (const { group, server } of found) {
    nodes.set(group, { server, isNoticed: nodes.get(group)?.isNoticed === true })
  }
  for (const group of others) {
    nodes.set(group, { server: nodes.get(group)?.server ?? '', isNoticed: true })
  }
  return textOf(nodes)
}

/** What is recorded once a takeover is decided. */
export function decidedOf(recorded: WorkersText): WorkersText {
  const workers = [...nodesIn(recorded)].filter(([group]) => group !== COORDINATOR)
  return textOf(workers.map(([group, node]) => [group, { ...node, isNoticed: false }]))
}

function nodesIn(text: WorkersText): ReadonlyMap<number, RecordedNode> {
  const nodes = text === '' ? [] : text.split(',')
  return new Map(
    nodes.map((node) => {
      const [group, server = ''] = node.split('=', 2)
      const isNoticed = server.endsWith('!')
      return [Number(group), { server: isNoticed ? server.slice(0, -1) : server, isNoticed }]
    }),
  )
}

function textOf(nodes: Iterable<readonly [group: number, node: RecordedNode]>): WorkersText {
  return [...nodes]
    .map(([group, { server, isNoticed }]) => `${group}=${server}${isNoticed ? '!' : ''}`)
    .join(',')
}
