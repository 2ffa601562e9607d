// Goal: what docs/mobile.md shows app developers works as it stands there. Method: take the
// snippets out of the document and run them against the service, as an app that keeps everything.

import { readFile } from 'node:fs/promises'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { linkUrl } from '../../src/access/sign-in-links.ts'
import { send } from '../support/http.ts'
import { BASE, startMobile } from '../support/mobile.ts'
import type { MobileTest } from '../support/mobile.ts'
import { until } from '../support/until.ts'

const DOCUMENT = new URL('../../docs/mobile.md', import.meta.url)
const ANA = 'ana@example.org'
const HOUR_MS = 3_600_000

interface Sensor {
  readonly id: number
  readonly sn: string
}

interface Point {
  readonly timestamp: string
  readonly endMs: number
}

type Listen = (token: string, onEvent: (name: string, data: Sensor) => void) => Promise<void>
type Get = (path: string) => Promise<{ data: unknown }>

describe('the snippets for apps', () => {
  let mobile: MobileTest
  let token: string
  before(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
    token = await mobile.tokenOf()
  })
  after(() => mobile.stop())

  const submit = (sn: string, agoMs = 0) => {
    const timestamp = new Date(mobile.service.clock.nowMs() - agoMs).toISOString()
    return mobile.submit(ANA, { measurements: [{ sn, temp: 20, timestamp }] })
  }

  it('listen to events until the session ends', async () => {
    const text = await snippet('async function listen')
    // Not every engine can iterate over a stream.
    expect(text).not.to.match(/for await \(|pipeThrough/)
    const fetchHere = (path: string, order: RequestInit) => fetch(mobile.service.url + path, order)
    const listen = runInNewContext(`${text}; listen`, {
      fetch: fetchHere,
      TextDecoder,
    }) as Listen
    const heard: string[] = []
    const listening = listen(token, (_name, sensor) => {
      heard.push(sensor.sn)
    })
    const ended = Promise.allSettled([listening])
    // What comes before it listens is not heard.
    await until('it has heard of the cellar', async () => {
      await submit('cellar')
      return heard.includes('cellar')
    })
    const { body } = await mobile.get('/sessions', token)
    const other = await mobile.tokenOf()
    const { id } = body.data.find(({ current }: { readonly current: boolean }) => current)
    await endSession(mobile, id, other)
    await ended
    token = other
  })

  it('catch up with what has changed while the app was away', async () => {
    const text = await snippet('async function catchUp')
    const get: Get = async (path) => (await mobile.get(path, token)).body
    const catchUp = runInNewContext(`${text}; catchUp`) as (db: Db, get: Get) => Promise<void>
    const db = new Db()
    await catchUp(db, get)
    const [sensor] = db.sensors.values()
    const id = sensor?.id ?? 0
    const nowMs = mobile.service.clock.nowMs()
    db.points = [30, 20, 1].map((hours) => {
      const startMs = Math.floor(nowMs / HOUR_MS - hours) * HOUR_MS
      return { timestamp: new Date(startMs).toISOString(), endMs: startMs + HOUR_MS }
    })
    await submit('away')
    await submit(sensor?.sn ?? '', 25 * HOUR_MS)
    await catchUp(db, get)
    const all = (await mobile.get('/sensors', token)).body.data as Sensor[]
    expect([...db.sensors.values()]).to.deep.equal(all)
    expect(db.points).to.have.length(1)
    expect(db.forgotten).to.deep.equal([id])
  })

  it('take a link apart, whatever the path of the service', async () => {
    const text = await snippet('const readLink')
    const readLink = runInNewContext(`${text}; readLink`) as (text: string) => string[] | undefined
    for (const address of ['http://192.168.178.20:8080', 'https://example.org/home']) {
      expect(readLink(linkUrl(address, 'xqSW8C-_')), address).to.deep.equal([address, 'xqSW8C-_'])
    }
    expect(readLink('https://example.org/#/sensors/7')).to.equal(undefined)
  })

  it('show every member of the bootstrap', async () => {
    const document = await readFile(DOCUMENT, 'utf8')
    const [, shown = ''] = /```json\n([^`]*"minimum_version"[^`]*)/.exec(document) ?? []
    const { data } = JSON.parse(shown) as { data: object }
    const { body } = await mobile.get('/bootstrap', token)
    expect(Object.keys(data)).to.have.members(Object.keys(body.data))
  })
})

function endSession({ service }: MobileTest, id: number, token: string) {
  return send(service.url, { method: 'DELETE', path: `${BASE}/sessions/${id}`, token })
}

/** What an app keeps, of one sensor's history. */
class Db {
  cursor: string | undefined
  sensors = new Map<number, Sensor>()
  points: Point[] = []
  forgotten: number[] = []

  transaction(work: () => void): void {
    work()
  }

  clear(): void {
    this.sensors.clear()
  }

  putSensor(sensor: Sensor): void {
    this.sensors.set(sensor.id, sensor)
  }

  deleteSensor(id: number): void {
    this.sensors.delete(id)
  }

  deletePoints(id: number, isForgotten: (point: Point) => boolean): void {
    // New sensors have no points yet.
    if (id === [...this.sensors.keys()][0]) this.forgotten.push(id)
    this.points =
      id === this.forgotten[0] ? this.points.filter((p) => !isForgotten(p)) : this.points
  }
}

/** The script of the document that contains a text. */
async function snippet(part: string): Promise<string> {
  const document = await readFile(DOCUMENT, 'utf8')
  const scripts = Array.from(document.matchAll(/```js\n(.*?)```/gs), ([, text = '']) => text)
  const found = scripts.find((text) => text.includes(part))
  if (found === undefined) throw new Error(`no script with ${part}`)
  return found
}
