// The alert rules of grafana/, judged as Grafana judges them: the queries, and its expressions as
// far as the rules use them.

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { InfluxqlAnswer } from './influxql.ts'

const RULES = new URL('../../grafana/provisioning/alerting/thermolog.yml', import.meta.url)

/** Conditions like `$B > 30`, joined by `&&`. */
const COMPARISON = /^\$(\w+) (<|>|==) (-?\d+)$/

type Model =
  | { readonly query: string }
  | { readonly type: 'reduce'; readonly expression: string; readonly reducer: 'last' }
  | { readonly type: 'math'; readonly expression: string }
  | {
      readonly type: 'threshold'
      readonly expression: string
      readonly conditions: readonly [
        { readonly evaluator: { readonly type: 'gt' | 'lt'; readonly params: readonly [number] } },
      ]
    }

export interface AlertRule {
  readonly title: string
  readonly isPaused: boolean
  readonly condition: string
  readonly execErrState: string
  readonly for: string
  readonly keepFiringFor?: string
  readonly missing_series_evals_to_resolve?: number
  readonly data: readonly {
    readonly refId: string
    readonly datasourceUid: string
    readonly model: Model
  }[]
}

/** What a query or an expression says of one set of labels; `null` where there is no value. */
interface Instance {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | null
}

export function readAlertRules(): AlertRule[] {
  const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: AlertRule[] }[] }
  return groups.flatMap((group) => group.rules)
}

/**
 * @param ask sends the statement of a query
 * @returns the labels `name` of those for which the rule fires, in order
 * @throws Error when a query fails, for which Grafana gives the rule the state of an error
 */
export async function firingOf(
  rule: AlertRule,
  ask: (statement: string) => Promise<InfluxqlAnswer>,
): Promise<readonly string[]> {
  const results = new Map<string, readonly Instance[]>()
  for (const { refId, model } of rule.data) {
    const instances = 'query' in model ? queried(await ask(model.query)) : judged(model, results)
    results.set(refId, instances)
  }
  const condition = results.get(rule.condition) ?? []
  // No value is no data, which is well with these rules.
  const firing = condition.filter(({ value }) => value !== null && value !== 0)
  return firing.map(({ labels }) => labels['name'] ?? '').toSorted()
}

function queried({ error, series }: InfluxqlAnswer): readonly Instance[] {
  if (error !== undefined) throw new Error(error)
  return series.map(({ tags = {}, values }) => ({
    labels: tags,
    value: (values.at(-1)?.[1] ?? null) as number | null,
  }))
}

function judged(
  model: Exclude<Model, { query: string }>,
  results: ReadonlyMap<string, readonly Instance[]>,
): readonly Instance[] {
  if (model.type === 'math') {
    return model.expression
      .split(' && ')
      .map((text) => compared(text, results))
      .reduce(both)
  }
  const instances = results.get(model.expression) ?? []
  // A query has given the last value of each series already.
  if (model.type === 'reduce') return instances
  const [{ evaluator }] = model.conditions
  return instances.map((one) =>
    holds(one, evaluator.type === 'gt' ? '>' : '<', evaluator.params[0]),
  )
}

function compared(
  text: string,
  results: ReadonlyMap<string, readonly Instance[]>,
): readonly Instance[] {
  const [, refId = '', operator = '', limit] = COMPARISON.exec(text) ?? []
  const instances = results.get(refId)
  if (instances === undefined) throw new Error(`not a comparison with a number: ${text}`)
  return instances.map((one) => holds(one, operator, Number(limit)))
}

function holds({ labels, value }: Instance, operator: string, limit: number): Instance {
  if (value === null) return { labels, value }
  const isSo = operator === '>' ? value > limit : operator === '<' ? value < limit : value === limit
  return { labels, value: Number(isSo) }
}

/** Of equal labels; what is on one side only is dropped. */
function both(left: readonly Instance[], right: readonly Instance[]): readonly Instance[] {
  const byLabels = new Map(right.map(({ labels, value }) => [keyOf(labels), value]))
  return left.flatMap(({ labels, value }) => {
    const other = byLabels.get(keyOf(labels))
    if (other === undefined) return []
    return [{ labels, value: value === null || other === null ? null : value && other }]
  })
}

function keyOf(labels: Instance['labels']): string {
  return JSON.stringify(labels, Object.keys(labels).toSorted())
}
