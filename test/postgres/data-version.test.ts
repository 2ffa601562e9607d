import { expect } from 'chai'
import {
  changesCursorOf,
  pendingOf,
  placesOf,
  placesText,
  seenByClient,
} from '../../src/postgres/data-version.ts'

describe('versions and cursors of PostgreSQL', () => {
  it('name rows of the journal', () => {
    const places = [
      { stream: 0, seq: 3 },
      { stream: 12, seq: 2 ** 41 },
    ]
    const text = placesText(places)
    expect(placesOf(text)).to.deep.equal(places)
    expect(placesOf(placesText([]))).to.deep.equal([])
    expect(pendingOf(`e|4|${text}`)).to.deep.equal({ epoch: 'e', places })
    const seen = {
      online: { sinceMs: 5, untilMs: 9 },
      epoch: 'e',
      settings: 7,
      heads: [3, 0, 2 ** 41],
    }
    expect(seenByClient(changesCursorOf(seen))).to.deep.equal(seen)
  })
})
