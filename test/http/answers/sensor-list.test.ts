// Goal: a list of thousands of sensors is whole, and however many ask for one, nobody else waits
// for all of them. Method: the real service, more sensors than fit in a part, many lists at once.

import { expect } from 'chai'
import { send, sendUnchecked } from '../../support/http.ts'
import { startMobile } from '../../support/mobile.ts'
import type { MobileTest } from '../../support/mobile.ts'

const SENSORS = 1_200
const LISTS = 100
const PATH = '/api/v1/sensors'

describe('a list of many sensors', () => {
  let mobile: MobileTest
  let daemon: string
  before(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
    daemon = await mobile.service.createToken('ana@example.org')
    for (let from = 0; from < SENSORS; from += 400) {
      const at = (index: number) => ({ sn: `sensor-${from + index}`, temp: index })
      const measurements = Array.from({ length: 400 }, (_, index) => at(index))
      await mobile.submit('ana@example.org', { measurements })
    }
  })
  after(() => mobile.stop())

  it('has all of them, by id', async () => {
    const ids = Array.from({ length: SENSORS }, (_, index) => index + 1)
    const idsOf = (sensors: readonly { id: number }[]) => sensors.map(({ id }) => id)
    const list = await send(mobile.service.url, { path: PATH, token: daemon })
    expect(idsOf(list.body.data)).to.deep.equal(ids)
    expect(list.body.data[700]).to.include({ sn: 'sensor-700' })
    const { data } = (await mobile.get('/dashboard', await mobile.tokenOf())).body
    expect(idsOf(data.sensors)).to.deep.equal(ids)
    expect(data).to.include({ sensors_total: SENSORS, sensors_online: SENSORS })
  })

  it('keeps nobody waiting for all the others who want one', async () => {
    const { url } = mobile.service
    let done = 0
    const ask = async () => {
      const { status } = await sendUnchecked(url, { path: PATH, token: daemon })
      done++
      return status
    }
    const lists = Array.from({ length: LISTS }, ask)
    const ready = await sendUnchecked(url, { path: '/readyz' })
    expect(ready.status).to.equal(200)
    expect(done).to.be.lessThan(LISTS / 2)
    expect(new Set(await Promise.all(lists))).to.deep.equal(new Set([200]))
  })
})
