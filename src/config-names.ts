// Finds names that resemble our settings but are not settings. Otherwise a misspelt setting would
// be ignored silently, and the service would run with a default that nobody chose.
//
// Among the names of settings, `IDP_<NAME>_…` stand for those of every identity provider.

/** The faults in the names of an environment. */
interface NameFaults {
  /** No other program has settings of these names, so the service does not start with them. */
  readonly problems: readonly string[]
  /** These may belong to another program. */
  readonly warnings: readonly string[]
}

/** Prefixes of our settings' names. */
const PREFIXES = ['DATABASE_', 'IDP_', 'INFLUX_', 'LINK_', 'MAX_', 'MOBILE_', 'RATE_LIMIT_']
const PROVIDER = 'IDP_<NAME>_'
const PROVIDER_SETTING = /^IDP_[A-Z0-9]+(?:_[A-Z0-9]+)+$/

/** How many letters of a provider's setting may be wrong while the intended one is still clear. */
const MEMBER_EDITS_MAX = 2

/** `<NAME>` of every identity provider that has a setting, in alphabetical order. */
export function providersIn(
  given: readonly string[],
  settings: readonly string[],
): readonly string[] {
  const members = membersOf(settings).join('|')
  const pattern = new RegExp(`^IDP_([A-Z0-9]+(?:_[A-Z0-9]+)*?)_(?:${members})(?:_FILE)?$`)
  return [...new Set(given.flatMap((name) => pattern.exec(name)?.[1] ?? []))].toSorted()
}

export function judgeNames(given: readonly string[], settings: readonly string[]): NameFaults {
  const providers = providersIn(given, settings)
  const members = membersOf(settings)
  const known = [
    ...settings,
    ...providers.flatMap((provider) => members.map((member) => `IDP_${provider}_${member}`)),
  ]
  const faults = given
    .filter((name) => !known.includes(name))
    .map((name) => ({
      problem: providerFault(name, providers, members),
      warning: strangeName(name, known),
    }))
  return {
    problems: faults.flatMap(({ problem }) => problem ?? []),
    warnings: faults.flatMap(({ problem, warning }) => (problem ? [] : (warning ?? []))),
  }
}

/** `ISSUER` of `IDP_<NAME>_ISSUER`. */
function membersOf(settings: readonly string[]): readonly string[] {
  const ofProvider = settings.filter((name) => name.startsWith(PROVIDER))
  return ofProvider.map((name) => name.slice(PROVIDER.length))
}

/** A setting of an identity provider that has other settings, or a nearly correct one. */
function providerFault(
  name: string,
  providers: readonly string[],
  members: readonly string[],
): string | undefined {
  if (!PROVIDER_SETTING.test(name)) return undefined
  const parts = name.split('_')
  const heads = parts.slice(2).map((_, at) => parts.slice(0, at + 2).join('_'))
  const possible = heads.flatMap((head) => members.map((member) => `${head}_${member}`))
  const meant = nearest(name, possible, MEMBER_EDITS_MAX)
  if (meant !== undefined) return `${name} is not a setting: did you mean ${meant}?`
  if (!providers.some((provider) => name.startsWith(`IDP_${provider}_`))) return undefined
  return `${name} is not a setting: an identity provider has ${members.join(', ')}`
}

function strangeName(name: string, known: readonly string[]): string | undefined {
  const meant = nearest(name, known, 1)
  if (meant !== undefined) return `${name} is not a setting and is ignored: did you mean ${meant}?`
  const prefix = PREFIXES.find((start) => name.startsWith(start))
  if (prefix === undefined) return undefined
  const there = known.filter((setting) => setting.startsWith(prefix))
  return `${name} is not a setting and is ignored; available: ${there.join(', ')}`
}

function nearest(name: string, possible: readonly string[], editsMax: number): string | undefined {
  for (let edits = 0; edits <= editsMax; edits++) {
    const found = possible.find((other) => areNear(name, other, edits))
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether so few letters are omitted, added, changed or swapped with a neighbour. */
function areNear(one: string, other: string, editsMax: number): boolean {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  const [here, there] = [one.slice(at), other.slice(at)]
  if (here === there || editsMax === 0) return here === there
  const isSwapped = here[0] === there[1] && here[1] === there[0]
  return (
    areNear(here.slice(1), there, editsMax - 1) ||
    areNear(here, there.slice(1), editsMax - 1) ||
    areNear(here.slice(1), there.slice(1), editsMax - 1) ||
    (isSwapped && areNear(here.slice(2), there.slice(2), editsMax - 1))
  )
}
