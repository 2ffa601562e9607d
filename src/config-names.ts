// Finds names that resemble our settings but are not settings. Otherwise a misspelt setting would
// be ignored silently, and the service would run with a default that nobody chose.
//
// Among the names of settings, `IDP_<NAME>_…` stand for those of every identity provider.

/** A name that is meant for a setting. */
interface Stranger {
  /** No other program has settings of such names, so the service does not start with it. */
  readonly isFault: boolean
  readonly message: string
}

/** Prefixes of our settings' names. */
const PREFIXES = ['DATABASE_', 'IDP_', 'INFLUX_', 'LINK_', 'MAX_', 'MOBILE_', 'RATE_LIMIT_']
const PROVIDER = 'IDP_<NAME>_'
const PROVIDER_SETTING = /^IDP_[A-Z0-9]+(?:_[A-Z0-9]+)+$/

/** How many letters of a provider's setting may be wrong while the intended one is still clear. */
const MEMBER_EDITS_MAX = 2

/** `<NAME>` of every identity provider that has a setting, in alphabetical order. */
export function providersIn(given: readonly string[], settings: readonly string[]): string[] {
  const members = membersOf(settings).join('|')
  const pattern = new RegExp(`^IDP_([A-Z0-9]+(?:_[A-Z0-9]+)*?)_(?:${members})(?:_FILE)?$`)
  return [...new Set(given.flatMap((name) => pattern.exec(name)?.[1] ?? []))].toSorted()
}

export function findStrangers(given: readonly string[], settings: readonly string[]): Stranger[] {
  const heads = providersIn(given, settings).map((provider) => `IDP_${provider}_`)
  const members = membersOf(settings)
  const known = [...settings, ...heads.flatMap((head) => members.map((member) => head + member))]
  return given.flatMap((name) => {
    if (known.includes(name)) return []
    const fault = (what: string) => ({ isFault: true, message: `${name} is not a setting${what}` })
    const warning = (what: string) => ({ ...fault(` and is ignored${what}`), isFault: false })
    const ofProvider = nearest(name, possibleOfProvider(name, members), MEMBER_EDITS_MAX)
    if (ofProvider !== undefined) return fault(`: did you mean ${ofProvider}?`)
    if (heads.some((head) => name.startsWith(head))) {
      return fault(`: an identity provider has ${members.join(', ')}`)
    }
    const meant = nearest(name, known, 1)
    if (meant !== undefined) return warning(`: did you mean ${meant}?`)
    const prefix = PREFIXES.find((start) => name.startsWith(start))
    if (prefix === undefined) return []
    const there = known.filter((setting) => setting.startsWith(prefix))
    return warning(`; available: ${there.join(', ')}`)
  })
}

/** `ISSUER` of `IDP_<NAME>_ISSUER`. */
function membersOf(settings: readonly string[]): readonly string[] {
  const ofProvider = settings.filter((name) => name.startsWith(PROVIDER))
  return ofProvider.map((name) => name.slice(PROVIDER.length))
}

/** The settings of all providers that it may be meant for: `A` and `A_B` have `IDP_A_B_C`. */
function possibleOfProvider(name: string, members: readonly string[]): readonly string[] {
  if (!PROVIDER_SETTING.test(name)) return []
  const parts = name.split('_')
  const heads = parts.slice(2).map((_, at) => parts.slice(0, at + 2).join('_'))
  return heads.flatMap((head) => members.map((member) => `${head}_${member}`))
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
