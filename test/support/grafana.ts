// The dashboards of grafana/, and their queries as Grafana sends them: its macros and the variables
// of the dashboard replaced by text.

import { readdirSync, readFileSync } from 'node:fs'

const DASHBOARDS = new URL('../../grafana/dashboards/', import.meta.url)

export interface Target {
  readonly refId: string
  readonly datasource: { readonly type: string; readonly uid: string }
  /** Flux or InfluxQL. */
  readonly query: string
  /** PromQL, in place of `query`. */
  readonly expr?: string
}

/** What Grafana does with the answers before it shows them. */
export interface Transformation {
  readonly id: string
  readonly options: {
    /** Of filterByValue: only rows that have the value in the field. */
    readonly filters?: readonly {
      readonly fieldName: string
      readonly config: { readonly options: { readonly value: number } }
    }[]
  }
}

export interface Panel {
  readonly id: number
  readonly title: string
  readonly description: string
  readonly type: string
  readonly targets: readonly Target[]
  readonly transformations?: readonly Transformation[]
  readonly fieldConfig: {
    readonly defaults: {
      readonly thresholds?: { readonly steps: readonly { readonly color: string }[] }
      readonly unit?: string
      readonly min?: number
      readonly custom?: { readonly drawStyle?: string }
    }
    readonly overrides: readonly {
      readonly matcher: { readonly id: string; readonly options: unknown }
      readonly properties: readonly { readonly id: string; readonly value: unknown }[]
    }[]
  }
  readonly options: {
    /** Of a table. */
    readonly sortBy?: readonly { readonly displayName: string }[]
  }
}

export interface Variable {
  readonly name: string
  readonly type: 'datasource' | 'query' | 'custom'
  readonly datasource?: { readonly uid: string }
  /** Of a custom one its values, comma by comma; of one of data sources their type. */
  readonly query: string | { readonly query: string }
  /** What is chosen at first; of one of data sources a uid. */
  readonly current: { readonly value?: string | readonly string[] }
  /** Takes text and value out of each answer. */
  readonly regex?: string
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly templating: { readonly list: readonly Variable[] }
  readonly panels: readonly Panel[]
}

/** The dashboards that work on every store. */
export const THERMOLOG_UIDS = ['thermolog-sensors', 'thermolog-sensor', 'thermolog-health']

/** The dashboard whose data source is Prometheus. */
export const OPERATIONS_UID = 'thermolog-operations'

export function readDashboards(): Dashboard[] {
  return readdirSync(DASHBOARDS, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => JSON.parse(readFileSync(new URL(file, DASHBOARDS), 'utf8')) as Dashboard)
}

/** What can be chosen of a custom variable, by the text that says it. */
export function choicesOf({ query }: Variable): Readonly<Record<string, string>> {
  const text = typeof query === 'string' ? query : query.query
  return Object.fromEntries(text.split(', ').map((choice) => choice.split(' : ')))
}

/** The uid of the data source that `${name}` is where they are provisioned. */
export function provisionedUid({ templating }: Dashboard, uid: string): string {
  const variable = templating.list.find(({ name }) => uid === `\${${name}}`)
  if (variable?.type !== 'datasource') throw new Error(`${uid} is no variable of data sources`)
  return String(variable.current.value)
}

/** What a viewer has chosen; times in RFC 3339. */
export interface View {
  readonly start: string
  readonly stop: string
  readonly windowPeriod: string
  readonly influxBucket: string
  readonly variables: Readonly<Record<string, string>>
}

/** @throws Error when something is left that Grafana would not replace */
export function interpolate(query: string, view: View): string {
  const { start, stop, windowPeriod, influxBucket, variables } = view
  const text = query
    .replaceAll('v.timeRangeStart', start)
    .replaceAll('v.timeRangeStop', stop)
    .replaceAll('v.windowPeriod', windowPeriod)
    .replaceAll('v.defaultBucket', `"${influxBucket}"`)
    .replaceAll('$timeFilter', `time >= ${Date.parse(start)}ms and time <= ${Date.parse(stop)}ms`)
    .replaceAll(/\$\{(\w+)(?::\w+)?\}/g, (whole, name: string) => variables[name] ?? whole)
  const [left] = /\$\{?\w+|\bv\.\w+/.exec(text.replaceAll('(v: v.', '(')) ?? []
  if (left !== undefined) throw new Error(`nothing is known to replace ${left}`)
  return text
}
