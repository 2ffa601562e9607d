// The main calls as people write them: curl, Python with nothing else to install, and TypeScript.
// The address is in THERMOLOG_URL, the token in THERMOLOG_TOKEN. A test runs every sample.

import { EXAMPLES } from './examples.ts'

interface SampledCall {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** With examples for its parameters. */
  readonly path: string
  /** The name of the example that is sent. */
  readonly body?: string
}

const SAMPLED: ReadonlyMap<string, SampledCall> = new Map<string, SampledCall>([
  [
    'submitMeasurement',
    { method: 'POST', path: '/api/v1/measurements', body: 'request/measurement' },
  ],
  [
    'submitBatch',
    { method: 'POST', path: '/api/v1/measurements/batch', body: 'request/measurement-batch' },
  ],
  ['listSensors', { method: 'GET', path: '/api/v1/sensors' }],
  ['changeSensor', { method: 'PATCH', path: '/api/v1/sensors/7', body: 'request/sensor-patch' }],
  ['readHistory', { method: 'GET', path: '/api/v1/sensors/7/measurements?bucket=hour' }],
  ['readSeries', { method: 'GET', path: '/api/v1/measurements?sensors=7,9&bucket=hour' }],
  ['showDashboard', { method: 'GET', path: '/api/mobile/v1/dashboard' }],
  ['readChanges', { method: 'GET', path: '/api/mobile/v1/changes' }],
])

export interface Sample {
  readonly lang: string
  readonly label: string
  readonly source: string
}

/** Samples of an operation, `undefined` if it has none. */
export function samplesOf(operationId: string): readonly Sample[] | undefined {
  const call = SAMPLED.get(operationId)
  if (call === undefined) return undefined
  const body = call.body === undefined ? undefined : EXAMPLES.get(call.body)
  return [
    { lang: 'Shell', label: 'curl', source: curl(call, body) },
    { lang: 'Python', label: 'Python', source: python(call, body) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call, body) },
  ]
}

function curl({ method, path }: SampledCall, body: unknown): string {
  const verb = method === 'PATCH' ? '-X PATCH ' : ''
  const lines = [
    `curl --fail-with-body ${verb}"$THERMOLOG_URL${path}"`,
    '-H "Authorization: Bearer $THERMOLOG_TOKEN"',
  ]
  if (body !== undefined) {
    lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(body)}'`)
  }
  return lines.join(' \\\n  ')
}

function python({ method, path }: SampledCall, body: unknown): string {
  const data =
    body === undefined ? '' : `\n    data=json.dumps(${indented(body, '    ')}).encode(),`
  const type = body === undefined ? '' : '\n        "Content-Type": "application/json",'
  return `import json
import os
import urllib.request

request = urllib.request.Request(
    os.environ["THERMOLOG_URL"] + "${path}",
    method="${method}",${data}
    headers={
        "Authorization": "Bearer " + os.environ["THERMOLOG_TOKEN"],${type}
    },
)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response)["data"])
`
}

function typescript({ method, path }: SampledCall, body: unknown): string {
  const sent = body === undefined ? '' : `\n  body: JSON.stringify(${indented(body, '  ')}),`
  const type = body === undefined ? '' : `\n    'Content-Type': 'application/json',`
  return `const { THERMOLOG_URL, THERMOLOG_TOKEN } = process.env
const response = await fetch(\`\${THERMOLOG_URL}${path}\`, {
  method: '${method}',
  headers: {
    Authorization: \`Bearer \${THERMOLOG_TOKEN}\`,${type}
  },${sent}
})
if (!response.ok) throw new Error(await response.text())
const { data } = await response.json()
console.log(data)
`
}

function indented(value: unknown, by: string): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${by}`)
}
