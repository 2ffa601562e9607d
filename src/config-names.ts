// Finds names that resemble our settings but are not settings. Otherwise a misspelt setting would
// be ignored silently, and the service would run with a default that nobody chose.

/** The faults in the names of an environment. */
export interface NameFaults {
  /** No other program has settings of these names, so the service does not start with them. */
  readonly problems: readonly string[]
  /** These may belong to another program. */
  readonly warnings: readonly string[]
}

/** Prefixes of our settings' names; `IDP_` has rules of its own. */
const PREFIXES = ['DATABASE_', 'IDP_', 'INFLUX_', 'LINK_', 'MAX_', 'MOBILE_', 'RATE_LIMIT_']
const PROVIDER_SETTING = /^IDP_[A-Z0-9]+(?:_[A-Z0-9]+)+$/

/** How many letters of a provider's setting may be wrong while the intended one is still clear. */
const MEMBER_EDITS_MAX = 2

/**
 * @param names of the settings that have a value
 * @param known names of all settings read
 * @param members the possible endings of `IDP_<NAME>_`
 */
export function judgeNames(
  names: readonly string[],
  known: ReadonlySet<string>,
  members: readonly string[],
): NameFaults {
  const problems: string[] = []
  const warnings: string[] = []
  for (const name of names) {
    if (known.has(name)) continue
    const problem = providerFault(name, known, members)
    const warning = problem === undefined ? strangeName(name, known) : undefined
    if (problem !== undefined) problems.push(problem)
    if (warning !== undefined) warnings.push(warning)
  }
  return { problems, warnings }
}

/** A setting of an identity provider that has other settings, or a nearly correct one. */
function providerFault(
  name: string,
  known: ReadonlySet<string>,
  members: readonly string[],
): string | undefined {
  if (!PROVIDER_SETTING.test(name)) return undefined
  const meant = members
    .map((member) => ({ member, ...tailLike(name, member) }))
    .toSorted((one, other) => one.edits - other.edits)[0]
  if (meant !== undefined && meant.edits <= MEMBER_EDITS_MAX) {
    return `${name} is not a setting: did you mean ${meant.head}_${meant.member}?`
  }
  const isOfProvider = [...known].some(
    (setting) => setting.startsWith('IDP_') && name.startsWith(headOf(setting, members)),
  )
  if (!isOfProvider) return undefined
  return `${name} is not a setting: an identity provider has ${members.join(', ')}`
}

/** `IDP_HOME_` of `IDP_HOME_ISSUER`. */
function headOf(setting: string, members: readonly string[]): string {
  const member = members.find((tail) => setting.endsWith(`_${tail}`)) ?? ''
  return setting.slice(0, setting.length - member.length)
}

/** The smallest edit distance between a member and an ending of a name. */
function tailLike(name: string, member: string): { head: string; edits: number } {
  const cuts = [...name.matchAll(/_/g)].map(({ index }) => index).filter((at) => at > 'IDP_'.length)
  const tails = cuts.map((at) => ({
    head: name.slice(0, at),
    edits: editsBetween(name.slice(at + 1), member),
  }))
  return tails.toSorted((one, other) => one.edits - other.edits)[0] ?? { head: '', edits: Infinity }
}

function strangeName(name: string, known: ReadonlySet<string>): string | undefined {
  const near = [...known].find((setting) => {
    return Math.abs(setting.length - name.length) <= 1 && editsBetween(name, setting) === 1
  })
  if (near !== undefined) {
    return `${name} is not a setting and is ignored: did you mean ${near}?`
  }
  const prefix = PREFIXES.find((start) => name.startsWith(start))
  if (prefix === undefined) return undefined
  const others = [...known].filter((setting) => setting.startsWith(prefix))
  const there = prefix === 'IDP_' ? ['IDP_<NAME>_ISSUER', 'IDP_<NAME>_CLIENT_ID'] : others
  return `${name} is not a setting and is ignored; available: ${there.join(', ')}`
}

/** Counts letters omitted, added, changed or swapped with a neighbour. */
function editsBetween(one: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let at = 1; at <= other.length; at++) {
      const isSame = one[row - 1] === other[at - 1]
      const isSwapped = one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1]
      current[at] = Math.min(
        (last[at] ?? 0) + 1,
        (current[at - 1] ?? 0) + 1,
        (last[at - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (beforeLast[at - 2] ?? 0) + 1 : Infinity,
      )
    }
    beforeLast = last
    last = current
  }
  return last[other.length] ?? 0
}
