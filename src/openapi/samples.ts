// Every call of the two APIs as people write it: curl, Python without dependencies, TypeScript,
// Kotlin with OkHttp, and Swift. The address is in THERMOLOG_URL, the token in THERMOLOG_TOKEN. A
// test runs the first three of each.

import { DAEMON_API_BASE, MOBILE_API_BASE } from '../http/routes/routes.ts'
import type { RouteRow } from '../http/routes/routes.ts'
import { EXAMPLES } from './examples.ts'
import type { RouteDescription } from './route-description.ts'

/** Values of path parameters. */
const VALUES: Readonly<Record<string, string>> = {
  id: '7',
  session: '12',
  token: '13',
  idp: 'acme',
}

const QUERIES: ReadonlyMap<string, string> = new Map([
  ['/sensors/{id}/measurements', '?bucket=hour'],
  ['/measurements', '?sensors=7,9&bucket=hour'],
])

interface SampledCall {
  readonly method: string
  readonly path: string
  readonly hasToken: boolean
  /** The request body. */
  readonly body: unknown
  readonly answer: 'JSON' | 'nothing' | 'events'
}

export interface Sample {
  readonly lang: string
  readonly label: string
  readonly source: string
}

/** Samples of an operation, `undefined` if it belongs to neither API. */
export function samplesOf(row: RouteRow, { answers }: RouteDescription) {
  const [method = '', path = ''] = row.route.split(' ')
  const base = [DAEMON_API_BASE, MOBILE_API_BASE].find((start) => path.startsWith(`${start}/`))
  if (base === undefined) return undefined
  const query = method === 'GET' ? QUERIES.get(path.slice(base.length)) : undefined
  const { schema } = row.input
  const isStream = answers[200]?.texts?.includes('text/event-stream') === true
  return samplesOfCall({
    method,
    path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) => VALUES[name] ?? '') + (query ?? ''),
    hasToken: !row.isOpen,
    body: schema !== undefined ? EXAMPLES.get(`request/${schema}`) : undefined,
    answer: isStream ? 'events' : answers[204] === undefined ? 'JSON' : 'nothing',
  })
}

function samplesOfCall(call: SampledCall): readonly Sample[] {
  return [
    { lang: 'Shell', label: 'curl', source: curl(call) },
    { lang: 'Python', label: 'Python', source: python(call) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
    { lang: 'Kotlin', label: 'Kotlin (OkHttp)', source: kotlin(call) },
    { lang: 'Swift', label: 'Swift', source: swift(call) },
  ]
}

function curl({ method, path, hasToken, body, answer }: SampledCall): string {
  const isImplied = method === 'GET' || (method === 'POST' && body !== undefined)
  const flags = `${isImplied ? '' : `-X ${method} `}${answer === 'events' ? '-N ' : ''}`
  const lines = [`curl --fail-with-body ${flags}"$THERMOLOG_URL${path}"`]
  if (hasToken) lines.push('-H "Authorization: Bearer $THERMOLOG_TOKEN"')
  if (body !== undefined) {
    lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(body)}'`)
  }
  return lines.join(' \\\n  ')
}

const PYTHON_ENDS = {
  JSON: 'print(json.load(response)["data"])',
  nothing: 'print(response.status)',
  events: 'for line in response:\n        print(line.decode(), end="")',
}

function python({ method, path, hasToken, body, answer }: SampledCall): string {
  const data =
    body === undefined ? '' : `\n    data=json.dumps(${indented(body, '    ')}).encode(),`
  const headers = [
    hasToken && '"Authorization": "Bearer " + os.environ["THERMOLOG_TOKEN"],',
    body !== undefined && '"Content-Type": "application/json",',
  ].filter((line) => line !== false)
  const usesJson = body !== undefined || answer === 'JSON'
  return `${usesJson ? 'import json\n' : ''}import os
import urllib.request

request = urllib.request.Request(
    os.environ["THERMOLOG_URL"] + "${path}",
    method="${method}",${data}
    headers={${headers.map((line) => `\n        ${line}`).join('')}
    },
)
with urllib.request.urlopen(request, timeout=30) as response:
    ${PYTHON_ENDS[answer]}
`
}

const TYPESCRIPT_ENDS = {
  JSON: 'const { data } = await response.json()\nconsole.log(data)',
  nothing: 'console.log(response.status)',
  events:
    'const decoder = new TextDecoder()\n' +
    'for await (const bytes of response.body!) {\n' +
    '  console.log(decoder.decode(bytes, { stream: true }))\n}',
}

function typescript({ method, path, hasToken, body, answer }: SampledCall): string {
  const sent = body === undefined ? '' : `\n  body: JSON.stringify(${indented(body, '  ')}),`
  const headers = [
    hasToken && 'Authorization: `Bearer ${THERMOLOG_TOKEN}`,',
    body !== undefined && `'Content-Type': 'application/json',`,
  ].filter((line) => line !== false)
  return `const { THERMOLOG_URL${hasToken ? ', THERMOLOG_TOKEN' : ''} } = process.env
const response = await fetch(\`\${THERMOLOG_URL}${path}\`, {
  method: '${method}',
  headers: {${headers.map((line) => `\n    ${line}`).join('')}
  },${sent}
})
if (!response.ok) throw new Error(await response.text())
${TYPESCRIPT_ENDS[answer]}
`
}

const KOTLIN_ENDS = {
  JSON: 'println(response.body.string())',
  nothing: 'println(response.code)',
  events: 'while (true) println(response.body.source().readUtf8Line() ?: break)',
}

function kotlin({ method, path, hasToken, body, answer }: SampledCall): string {
  const json = body === undefined ? '""' : `"""${JSON.stringify(body)}"""`
  const sent = `${json}.toRequestBody("application/json".toMediaType())`
  const lines = [
    `.url(System.getenv("THERMOLOG_URL") + "${path}")`,
    hasToken && '.header("Authorization", "Bearer " + System.getenv("THERMOLOG_TOKEN"))',
    method !== 'GET' && `.method("${method}", ${sent})`,
  ].filter((line) => line !== false)
  return `val request = Request.Builder()
${lines.map((line) => `  ${line}\n`).join('')}  .build()
OkHttpClient().newCall(request).execute().use { response ->
  check(response.isSuccessful) { response.body.string() }
  ${KOTLIN_ENDS[answer]}
}
`
}

function swift({ method, path, hasToken, body, answer }: SampledCall): string {
  const lines = [
    'let environment = ProcessInfo.processInfo.environment',
    `let url = URL(string: environment["THERMOLOG_URL"]! + "${path}")!`,
    'var request = URLRequest(url: url)',
    `request.httpMethod = "${method}"`,
    hasToken && 'let token = environment["THERMOLOG_TOKEN"]!',
    hasToken && 'request.setValue("Bearer \\(token)", forHTTPHeaderField: "Authorization")',
    body !== undefined &&
      'request.setValue("application/json", forHTTPHeaderField: "Content-Type")',
    body !== undefined && `request.httpBody = Data(#"${JSON.stringify(body)}"#.utf8)`,
    ...SWIFT_ENDS[answer],
  ]
  return `${lines.filter((line) => line !== false).join('\n')}\n`
}

const SWIFT_ANSWER = [
  'let (data, response) = try await URLSession.shared.data(for: request)',
  'guard (response as! HTTPURLResponse).statusCode < 300 else {',
  '  fatalError(String(decoding: data, as: UTF8.self))',
  '}',
]
const SWIFT_ENDS = {
  JSON: [...SWIFT_ANSWER, 'print(String(decoding: data, as: UTF8.self))'],
  nothing: SWIFT_ANSWER,
  events: [
    'let (bytes, _) = try await URLSession.shared.bytes(for: request)',
    '// Not `bytes.lines`, which leaves out the empty lines that end an event.',
    'for try await byte in bytes {',
    '  print(Character(UnicodeScalar(byte)), terminator: "")',
    '}',
  ],
}

function indented(value: unknown, by: string): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${by}`)
}
