// Statements as Grafana sends them, and their answers as rows.

import { expect } from 'chai'
import { send } from './http.ts'
import type { TestAnswer } from './http.ts'

export type Row = Readonly<Record<string, unknown>>

interface Series {
  readonly tags?: Readonly<Record<string, string>>
  readonly columns: readonly string[]
  readonly values: readonly (readonly unknown[])[]
}

export interface InfluxqlAnswer {
  readonly status: number
  readonly error: string | undefined
  readonly series: readonly Series[]
  readonly messages: readonly unknown[] | undefined
  /** Of all series, with their tags. */
  readonly rows: readonly Row[]
  readonly headers: TestAnswer['headers']
}

export async function ask(url: string, token: string, q: string): Promise<InfluxqlAnswer> {
  const answer = await send(url, {
    method: 'POST',
    path: '/query?db=thermolog&epoch=ms',
    body: new URLSearchParams({ q }).toString(),
    headers: {
      authorization: `Token ${token}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
  })
  return readAnswer(answer)
}

/** The rows of an answer that must be one. */
export async function askRows(url: string, token: string, q: string): Promise<readonly Row[]> {
  const { error, rows } = await ask(url, token, q)
  expect(error, q).to.equal(undefined)
  return rows
}

export function readAnswer({ status, headers, body }: TestAnswer): InfluxqlAnswer {
  const [result] = body.results ?? []
  const series = (result?.series ?? []) as Series[]
  const rows = series.flatMap(({ tags, columns, values }) =>
    values.map((row) => ({
      ...tags,
      ...Object.fromEntries(columns.map((column, at) => [column, row[at]])),
    })),
  )
  return { status, headers, error: body.error, series, messages: result?.messages, rows }
}
