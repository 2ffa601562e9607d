// What a newer document breaks for clients that were generated from an older one. What may be added
// (docs/api.md, “What may change”) is no breach: members of responses, operations, optional
// parameters, codes, headers. Everything else that differs is one.

// oxlint-disable-next-line typescript/no-explicit-any
type Node = any

/** Texts, examples and what is for people; clients do not depend on them. */
const TOLD = /^(description|summary|title|tags|example|examples|info|servers|deprecated|x-.*)$/
/** The schemas of request bodies: what these require must not grow. */
const REQUESTS = new Set([
  'Measurement',
  'MeasurementBatch',
  'SensorPatch',
  'AuthorizationGrant',
  'LinkGrant',
  'AccountDeletion',
  'NewDaemonToken',
  'DaemonTokenRotation',
])

/** One line for each breach: where it is, and what it is. */
export function brokenPromises(before: Node, after: Node, place = ''): string[] {
  if (Array.isArray(before)) return brokenLists(before, after, place)
  if (typeof before !== 'object' || before === null) {
    const isSame = before === after
    return isSame ? [] : [`${place}: ${JSON.stringify(before)} is ${JSON.stringify(after)}`]
  }
  if (typeof after !== 'object' || after === null) return [`${place}: is gone`]
  const isMap = /\/(properties|schemas|responses|parameters|headers|paths)$/.test(place)
  const kept = Object.keys(before).filter((name) => isMap || !TOLD.test(name))
  return [
    ...kept.flatMap((name) => brokenPromises(before[name], after[name], `${place}/${name}`)),
    ...(isMap ? [] : newConstraints(before, after, place)),
  ]
}

function brokenLists(before: Node[], after: Node, place: string): string[] {
  if (!Array.isArray(after)) return [`${place}: is gone`]
  if (place.endsWith('/parameters')) return brokenParameters(before, after, place)
  const [, schema = ''] = /\/schemas\/(\w+)/.exec(place) ?? []
  const hasRequired = place.endsWith('/required')
  const texts = (list: Node[]) => list.map((item) => JSON.stringify(item))
  const [old, now] = [texts(before), texts(after)]
  const without = (list: string[], others: string[]) =>
    list.filter((item) => !others.includes(item))
  const gone = without(old, now).map((item) => `${place}: without ${item}`)
  const added = without(now, old).map((item) => `${place}: with ${item}`)
  if (!hasRequired) return [...gone, ...added]
  // A response may promise more, a request may ask for less.
  return REQUESTS.has(schema) ? added : gone
}

function brokenParameters(before: Node[], after: Node[], place: string): string[] {
  const nameOf = (parameter: Node) => parameter.$ref ?? `${parameter.in} ${parameter.name}`
  const byName = new Map(after.map((parameter) => [nameOf(parameter), parameter]))
  const known = new Set(before.map(nameOf))
  const demanded = after.filter((parameter) => parameter.required && !known.has(nameOf(parameter)))
  return [
    ...before.flatMap((parameter) =>
      brokenPromises(parameter, byName.get(nameOf(parameter)), `${place}/${nameOf(parameter)}`),
    ),
    ...demanded.map((parameter) => `${place}: requires ${nameOf(parameter)}`),
  ]
}

const CONSTRAINTS = ['enum', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength', 'maxItems']

function newConstraints(before: Node, after: Node, place: string): string[] {
  const isRequired = after.required === true && before.required !== true
  const added = CONSTRAINTS.filter((name) => name in after && !(name in before))
  return [...added, ...(isRequired ? ['required'] : [])].map((name) => `${place}: new ${name}`)
}
