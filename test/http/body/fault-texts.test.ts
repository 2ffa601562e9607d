// Goal: whoever reads a fault knows what to change, without knowing JSON Schema. Each row is a
// request and what it is told.

import { expect } from 'chai'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const SERIAL_NUMBER = 'must be letters, digits and : . _ - with at least one letter or digit'

describe('what a fault says', () => {
  let service: TestService
  let token: string

  before(async () => {
    service = await startService()
    token = await service.createToken('a@example.org')
  })

  after(() => service.stop())

  async function told(method: string, path: string, body?: unknown): Promise<string[]> {
    const answer = await send(service.url, { method, path: `/api/v1/${path}`, token, body })
    const { errors } = answer.body as { errors: { pointer: string; detail: string }[] }
    return errors.map(({ pointer, detail }) => `${pointer} ${detail}`)
  }

  const MEASUREMENTS: readonly (readonly [string, object, ...string[]])[] = [
    ['an empty object', {}, '/sn is missing', '/temp is missing'],
    ['an empty serial number', { sn: '', temp: 1 }, `/sn ${SERIAL_NUMBER}`],
    ['a strange one', { sn: 'a b', temp: 1 }, `/sn ${SERIAL_NUMBER}`],
    ['a long one', { sn: 'a'.repeat(65), temp: 1 }, '/sn must have at most 64 characters'],
    ['an empty id', { event_id: '', sn: 'a', temp: 1 }, '/event_id must not be empty'],
    ['a text', { sn: 'a', temp: '1' }, '/temp must be a number'],
    ['a cold one', { sn: 'a', temp: -300 }, '/temp must be at least -273.15'],
    ['a hot one', { sn: 'a', temp: 1e6 }, '/temp must be at most 10000'],
    [
      'one in thousandths',
      { sn: 'a', temp: 21_500 },
      '/temp must be at most 10000: is it in thousandths of a degree?',
    ],
    [
      'a Unix time',
      { sn: 'a', temp: 1, timestamp: 1_795_169_642 },
      '/timestamp must be text such as 2026-11-20T10:15:00.000Z, not a Unix time',
    ],
    [
      'a time of another type',
      { sn: 'a', temp: 1, timestamp: null },
      '/timestamp must be a string',
    ],
    ['a member more', { sn: 'a', temp: 1, unit: 'C' }, '/unit is unknown'],
  ]

  for (const [name, body, ...faults] of MEASUREMENTS) {
    it(`is plain for ${name}`, async () => {
      expect(await told('POST', 'measurements', body)).to.deep.equal(faults)
    })
  }

  const LIKE = 'must be a time like 2026-11-20T10:15:00.000Z or 2026-11-20T11:15:00+01:00'
  const ZONE = 'the zone is missing, add Z or an offset such as +01:00'
  const NO_NAME = 'a zone is Z or an offset such as +01:00, no name'
  const TIMES: readonly (readonly [text: string, ...missing: string[]])[] = [
    ['2026-11-20T10:15:00', ZONE],
    ['2026-11-20T10:15:00.123456', ZONE],
    ['2026-11-20 10:15:00', 'a T stands between date and time', ZONE],
    ['2026-11-20 10:15', 'a T stands between date and time', 'the seconds are missing', ZONE],
    ['2026-11-20T10:15Z', 'the seconds are missing'],
    ['2026-11-20T10:15+01:00', 'the seconds are missing'],
    ['2026-11-20', 'the time of day is missing'],
    ['1795169642', 'a time is text, not a Unix time'],
    ['1795169642.113', 'a time is text, not a Unix time'],
    ['20.11.2026 10:15:00', 'the year comes first', 'a T stands between date and time', ZONE],
    ['11/20/2026T10:15:00Z', 'the year comes first'],
    ['2026/11/20T10:15:00Z', 'a date has hyphens'],
    ['20261120T10:15:00Z', 'a date has hyphens'],
    ['2026-11-20T10:15:00,5Z', 'a fraction has a point'],
    ['2026-11-20T10:15:00+0100', 'an offset has a colon, as in +01:00'],
    ['2026-11-20T10:15:00+01', 'an offset has a colon, as in +01:00'],
    ['2026-11-20T10:15:00 +01:00', 'no blank stands before the zone'],
    ['2026-11-20T10:15:00UTC', NO_NAME],
    ['2026-11-20T10:15:00 CET', NO_NAME],
    ['2026-02-30T10:15:00Z', 'there is no such day or time of day'],
    ['2026-11-20T24:00:00Z', 'there is no such day or time of day'],
    ['2026-11-20T10:15:00+24:00', 'there is no such day or time of day'],
    ['', ''],
    ['now', ''],
    [`2026-11-20T10:15:00${'0'.repeat(50)}`, ''],
  ]

  it('names what a time lacks, alone, in a batch and with what is skipped', async () => {
    for (const [timestamp, ...missing] of TIMES) {
      const element = { sn: 'a', temp: 1, timestamp }
      const fault = missing[0] === '' ? LIKE : `${LIKE}: ${missing.join('; ')}`
      const batch = { measurements: [element] }
      expect(await told('POST', 'measurements', element)).to.deep.equal([`/timestamp ${fault}`])
      const inBatch = [`/measurements/0/timestamp ${fault}`]
      expect(await told('POST', 'measurements/batch', batch)).to.deep.equal(inBatch)
      const path = '/api/v1/measurements/batch?on_invalid=skip'
      const { body } = await send(service.url, { method: 'POST', path, token, body: batch })
      expect(body.data.measurements[0].errors[0].detail).to.equal(fault)
    }
  })

  it('is plain for batches', async () => {
    const batch = (measurements: unknown) => told('POST', 'measurements/batch', { measurements })
    expect(await batch([])).to.deep.equal(['/measurements must not be empty'])
    expect(await batch({})).to.deep.equal(['/measurements must be an array'])
    expect(await batch([7])).to.deep.equal(['/measurements/0 must be an object'])
  })

  it('is plain and complete for numbers of more than 64 characters', async () => {
    const number = (characters: number) => `-2.${'5'.repeat(characters - 3)}`
    const LONG = number(65)
    const fault = 'must be a number of at most 64 characters'
    const wrong = `{"sn":${LONG},"temp":${LONG},"unit":"C"}`
    const faults = ['/sn must be a string', `/temp ${fault}`, '/unit is unknown']
    expect(await told('POST', 'measurements', wrong)).to.have.members(faults)
    for (const space of ['', ' '.repeat(32 * 1024)]) {
      const elements = `{"sn":"a","temp":1},{"sn":"a","temp":${LONG}},${wrong}`
      const batch = `{"measurements":[${elements}]${space}}`
      expect(await told('POST', 'measurements/batch', batch)).to.have.members([
        `/measurements/1/temp ${fault}`,
        ...faults.map((each) => `/measurements/2${each}`),
      ])
      const fits = `{"measurements":[{"sn":"long","temp":${number(64)}}]${space}}`
      const request = { method: 'POST', path: '/api/v1/measurements/batch', token, body: fits }
      expect((await send(service.url, request)).status).to.equal(201)
    }
    const compensation = `{"compensation":${LONG}}`
    expect(await told('PATCH', 'sensors/1', compensation)).to.deep.equal([`/compensation ${fault}`])
    const { body } = await send(service.url, { path: '/api/v1/sensors', token })
    const raws = (body.data as { latest: { raw: number } }[]).map(({ latest }) => latest.raw)
    expect(raws).to.deep.equal([Number(number(64))])
  })

  it('is there for each parameter of a query', async () => {
    await send(service.url, {
      method: 'POST',
      path: '/api/v1/measurements',
      token,
      body: { sn: 'a', temp: 1 },
    })
    const query = 'bucket=week&tz=Mars/Olympus&from=yesterday&what=1'
    const faults = await told('GET', `sensors/1/measurements?${query}`)
    expect(faults.map((fault) => fault.split(' ')[0])).to.have.members([
      '/what',
      '/bucket',
      '/from',
      '/tz',
    ])
  })

  it('is plain for a change of nothing', async () => {
    expect(await told('PATCH', 'sensors/1', {})).to.deep.equal([' must not be empty'])
    expect(await told('PATCH', 'sensors/1', { alias: ' ' })).to.deep.equal([
      '/alias must be 1 to 128 characters after trimming, at least one visible, without ' +
        'controls or lone surrogates',
    ])
  })
})
