import { expect } from 'chai'
import { setImmediate } from 'node:timers/promises'
import { UserPlaces } from '../../../src/http/callers/user-places.ts'

describe('UserPlaces', () => {
  it('makes a user with as many as allowed wait, in order, and nobody else', async () => {
    const places = new UserPlaces(1)
    const order: string[] = []
    const take = async (userId: number, name: string) => {
      const giveBack = await places.take(userId)
      order.push(name)
      return giveBack
    }
    const giveBack = await take(1, 'first')
    const second = take(1, 'second')
    const third = take(1, 'third')
    await take(2, 'of another user')
    await setImmediate()
    expect(order).to.deep.equal(['first', 'of another user'])
    giveBack()
    ;(await second)()
    ;(await third)()
    expect(order).to.deep.equal(['first', 'of another user', 'second', 'third'])
    await take(1, 'again')
    expect(order.at(-1)).to.equal('again')
  })
})
