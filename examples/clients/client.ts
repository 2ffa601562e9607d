// npx openapi-typescript@7.13 "$THERMOLOG_URL/openapi/daemon.json" -o thermolog.d.ts
//
// Then `npm install openapi-fetch@0.17` and `node client.ts`, with THERMOLOG_URL and
// THERMOLOG_TOKEN. What a daemon does, with types for every answer: docs/api.md.

import createClient from 'openapi-fetch'
import type { paths } from './thermolog.d.ts'

const baseUrl = process.env['THERMOLOG_URL'] ?? 'http://127.0.0.1:8080'
const token = process.env['THERMOLOG_TOKEN'] ?? ''
const clientOf = (text: string) =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${text}` } })
const api = clientOf(token)

const me = await api.GET('/api/v1/me')
if (me.error) throw new Error(me.error.detail)
console.log('me:', me.data.data.user.email)

const sensors = await api.GET('/api/v1/sensors')
const tag = sensors.response.headers.get('ETag') ?? ''
const known = { params: { header: { 'If-None-Match': tag } } }
const again = await api.GET('/api/v1/sensors', known)
console.log('sensors:', sensors.data?.data.length, 'then', again.response.status)

// The event id makes it safe to send a measurement again: it is stored once.
const submit = (temp: number) =>
  api.POST('/api/v1/measurements', {
    body: { event_id: 'example-1', sn: '28FF641E93160434', temp },
  })
const created = await submit(20.5)
const repeated = await submit(20.5)
const conflict = await submit(21.5)
console.log('measurement:', created.data?.data.status, repeated.data?.data.status)
console.log('conflict:', conflict.error?.code, conflict.error?.existing?.temp)

const measurements = Array.from({ length: 500 }, (_, index) => ({
  event_id: `example-batch-${index}`,
  sn: index === 7 ? '' : '28FF641E93160435',
  temp: index === 3 ? 1e9 : 20,
}))
const batch = await api.POST('/api/v1/measurements/batch', { body: { measurements } })
const pointers = batch.error?.errors?.map(({ pointer }) => pointer) ?? []
console.log('batch:', batch.error?.code, ...pointers)

const id = created.data?.data.sensor_id ?? 0
const from = new Date(Date.now() - 3_600_000).toISOString()
const to = new Date(Date.now() + 60_000).toISOString()
const readHistory = (query: { bucket: 'raw' } | { bucket: 'hour'; fill: 'null' }) =>
  api.GET('/api/v1/sensors/{id}/measurements', {
    params: { path: { id }, query: { from, to, ...query } },
  })
const raw = await readHistory({ bucket: 'raw' })
const hours = await readHistory({ bucket: 'hour', fill: 'null' })
const measured = hours.data?.data.points.find(({ temp }) => temp !== null)
console.log('history:', raw.data?.data.points[0]?.temp, measured?.max, measured?.count)

const lost = await api.GET('/api/v1/sensors/{id}', { params: { path: { id: 999_999_999 } } })
const stranger = await clientOf('thd_live_x').GET('/api/v1/me')
console.log('failures:', lost.error?.code, stranger.error?.code)
