// Goal: clients that ask and do not read their answers neither end the service nor keep others from
// being served, whatever they ask for. Method: one user asks for every row of the route tables
// hundreds of times and reads nothing, on many connections and many times on one, while another
// user sends measurements; then all of them leave, and everything has to have come back.

import { expect } from 'chai'
import { byLength } from '../support/length.ts'
import { steadily } from '../support/steadily.ts'
import { readUnreadRequests } from '../support/unread-requests.ts'
import type { UnreadRequest } from '../support/unread-requests.ts'
import { askUnread, expectPlaces, shownFigures } from '../support/unread-run.ts'
import type { UnreadFigures, UnreadOrder } from '../support/unread-run.ts'
import { UnreadService } from '../support/unread-service.ts'
import { until } from '../support/until.ts'

/** A list of all of them is more than the buffers of the system take of an answer. */
const SENSORS = byLength({ sensors: 12_500, named: 50 }, { sensors: 10_000, named: 10_000 })
const ORDERS: readonly UnreadOrder[] = byLength(
  [{ connections: 128, pipelines: 6, msMax: 1_000 }],
  [
    { connections: 512, pipelines: 0, msMax: 4_000 },
    { connections: 0, pipelines: 8, msMax: 4_000 },
  ],
)
/** Behind the first answers of so many connections, thousands of requests wait, of a few rows. */
const CROWD: UnreadOrder = { connections: 0, pipelines: 250, msMax: byLength(2_000, 4_000) }
const CROWD_ROWS = /^(GET \/(healthz|problems|api\/v1\/sensors)|a batch that is refused: .*)$/
/** Only the rows that it matches, and the figures of each are told. */
const ROWS = process.env['UNREAD_ROWS']
/** The second time nothing more may be kept than after the first. */
const ROUNDS = byLength(1, 2)
/** What lists that are read take for good is taken before memory is compared. */
const READERS = 4
const LISTS_READ = 40
const SUBMIT_EVERY_MS = 100
const HEAP_GROWTH_BYTES_MAX = 15 * 2 ** 20
/** Of all rows together, once everybody has left: what the first long answers take stays. */
const MEMORY_GROWTH_BYTES_MAX = 160 * 2 ** 20
/** What a round like one before may add for good. */
const ROUND_GROWTH_BYTES_MAX = 30 * 2 ** 20

describe('clients that do not read their answers', function () {
  this.timeout(byLength(5, 40) * 60_000)
  const service = new UnreadService()
  let requests: readonly UnreadRequest[] = []

  before(async () => {
    await service.start(SENSORS)
    const all = await readUnreadRequests(service.url, byLength(true, false))
    await service.readLists(READERS, LISTS_READ)
    requests = all.filter(({ what }) => new RegExp(ROWS ?? '').test(what))
  })

  after(() => service.stop())

  it('harm nobody, whatever they ask for', async () => {
    const beforeBytes = service.residentBytes
    const heaps: number[] = []
    const residents: number[] = []
    const failed: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      for (const order of ORDERS) failed.push(...(await failing(requests, order)))
      heaps.push(await service.heapAfterCollection())
      residents.push(service.residentBytes)
    }
    expectNone(failed)
    await expectPlaces(service)
    expect(heaps.at(-1), 'heap in use').to.be.at.most((heaps[0] ?? 0) + HEAP_GROWTH_BYTES_MAX)
    const most = Math.min(
      beforeBytes + MEMORY_GROWTH_BYTES_MAX,
      ...residents.slice(0, -1).map((bytes) => bytes + ROUND_GROWTH_BYTES_MAX),
    )
    await until(`no more memory than ${most} bytes`, () => service.residentBytes <= most)
  })

  it('harm nobody, however many requests wait behind their answers', async () => {
    const rows = byLength(
      requests.filter(({ what }) => CROWD_ROWS.test(what)),
      requests,
    )
    expectNone(await failing(rows, CROWD))
  })

  /** @returns what is wrong with rows, a line each */
  async function failing(rows: readonly UnreadRequest[], order: UnreadOrder): Promise<string[]> {
    const failed: string[] = []
    for (const row of rows) {
      const figures = await besideOther(row, order)
      if (ROWS !== undefined) process.stderr.write(`      ${shownFigures(figures)}\n`)
      if (figures.fault === undefined) continue
      failed.push(shownFigures(figures))
      // What is left of it is nothing of the next row.
      await service.restart()
      await service.readLists(READERS, LISTS_READ)
    }
    return failed
  }

  async function besideOther(request: UnreadRequest, order: UnreadOrder): Promise<UnreadFigures> {
    const ended = new AbortController()
    const served = steadily(ended.signal, SUBMIT_EVERY_MS, () => service.submitOfOther()).then(
      () => undefined,
      (cause: unknown) => String(cause),
    )
    const figures = await askUnread(service, request, order)
    ended.abort()
    return { ...figures, fault: figures.fault ?? (await served) }
  }
})

function expectNone(failed: readonly string[]): void {
  expect(failed.length, `\n${failed.join('\n')}\n`).to.equal(0)
}
