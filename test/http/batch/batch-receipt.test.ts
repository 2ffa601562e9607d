import { expect } from 'chai'
import fc from 'fast-check'
import type { Receipt, ReceiptItem, StoredMeasurement } from '../../../src/domain/measurement.ts'
import { formatInstant } from '../../../src/domain/time.ts'
import { BatchReceiptWriter } from '../../../src/http/batch/batch-receipt.ts'

const eventIds = fc.oneof(
  fc.constant(null),
  fc.uuid(),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 128 }),
  fc.constantFrom('"', '\\', '\n', '\u2028', '\u0000', 'ä€𝄞'),
)
const instants = fc.integer({ min: Date.UTC(1969, 0), max: Date.UTC(9999, 11, 31) })
const ids = fc.integer({ min: 1, max: 2 ** 32 - 1 })
const stored: fc.Arbitrary<StoredMeasurement> = fc.record({
  serialNumber: fc.constantFrom('28FF641E93160434', 'cellar'),
  sensorId: ids,
  tempCelsius: fc.double({ min: -273.15, max: 10_000, noNaN: true }),
  measuredAtMs: instants,
})
const receiptItems: fc.Arbitrary<ReceiptItem> = fc
  .record({
    status: fc.constantFrom('created', 'duplicate', 'conflict'),
    sensorId: ids,
    measuredAtMs: instants,
    existing: stored,
  })
  .map(({ existing, ...item }) => ({
    ...item,
    serialNumber: existing.serialNumber,
    ...(item.status === 'conflict' && { existing }),
  }))
const elements = fc.array(fc.record({ eventId: eventIds, item: receiptItems }), { minLength: 1 })

describe('the receipt of a batch', () => {
  const writer = new BatchReceiptWriter()

  function write(batch: readonly { eventId: string | null; item: ReceiptItem }[]) {
    const submitted = { serialNumber: 'x', tempCelsius: 0, measuredAtMs: null }
    const texts = writer.keepEventIds(batch.map(({ eventId }) => ({ ...submitted, eventId })))
    return { texts, body: writer.write(texts, receiptOf(batch.map(({ item }) => item))) }
  }

  it('says of each element what was decided, whatever its event id', () => {
    fc.assert(
      fc.property(elements, (batch) => {
        const { body } = write(batch)
        const { counts } = receiptOf(batch.map(({ item }) => item))
        expect(JSON.parse(body.toString())).to.deep.equal({
          data: {
            created: counts.created,
            duplicates: counts.duplicate,
            conflicts: counts.conflict,
            measurements: batch.map(({ eventId, item }, index) => ({
              index,
              event_id: eventId,
              sensor_id: item.sensorId,
              timestamp: formatInstant(item.measuredAtMs),
              status: item.status,
              ...(item.existing && { existing: asExisting(eventId, item.existing) }),
            })),
          },
        })
      }),
    )
  })

  it('gives back each event id of which only the text was kept', () => {
    fc.assert(
      fc.property(elements, (batch) => {
        const { texts } = write(batch)
        batch.forEach(({ eventId }, at) => expect(texts.at(at)).to.equal(eventId))
        expect(texts.at(batch.length)).to.equal(null)
      }),
    )
  })
})

function receiptOf(items: readonly ReceiptItem[]): Receipt {
  const counts = { created: 0, duplicate: 0, conflict: 0 }
  for (const { status } of items) counts[status]++
  const at = (index: number) => items[index] ?? expect.fail(`no element ${index}`)
  return { count: items.length, counts, at }
}

function asExisting(eventId: string | null, existing: StoredMeasurement) {
  return {
    event_id: eventId ?? '',
    sn: existing.serialNumber,
    sensor_id: existing.sensorId,
    // JSON has no −0.
    temp: existing.tempCelsius + 0,
    timestamp: formatInstant(existing.measuredAtMs),
  }
}
