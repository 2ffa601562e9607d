// Messages that can look different: a named example of each form, the most common first. A test
// checks each against its schema.

import type {
  BatchReceiptResponse,
  ChangesResponse,
  HistoryResponse,
  Measurement,
  MeasurementResponse,
} from '../../schemas/messages.d.ts'
import { EXAMPLES } from './examples.ts'

export interface NamedExample {
  readonly summary: string
  readonly value: unknown
}

const measurement = EXAMPLES.get('request/measurement') as Measurement
const accepted = EXAMPLES.get('response/measurement') as MeasurementResponse
const history = EXAMPLES.get('response/history') as HistoryResponse
const changes = EXAMPLES.get('response/changes') as ChangesResponse

const conflict: BatchReceiptResponse = {
  data: {
    created: 0,
    duplicates: 0,
    conflicts: 1,
    measurements: [
      {
        index: 0,
        event_id: accepted.data.event_id,
        sensor_id: 7,
        timestamp: accepted.data.timestamp,
        status: 'conflict',
        existing: {
          event_id: measurement.event_id ?? '',
          sn: measurement.sn,
          sensor_id: 7,
          temp: 11.75,
          timestamp: accepted.data.timestamp,
        },
      },
    ],
  },
}

const skipped: BatchReceiptResponse = {
  data: {
    created: 0,
    duplicates: 0,
    conflicts: 0,
    rejected: 1,
    measurements: [
      {
        index: 0,
        event_id: accepted.data.event_id,
        status: 'rejected',
        errors: [
          {
            pointer: '/measurements/0/temp',
            code: 'maximum',
            detail: 'must be at most 10000',
            index: 0,
          },
        ],
      },
    ],
  },
}

/** 29 March 2026 has 23 hours in Berlin. */
const shortDay: HistoryResponse = {
  data: {
    ...history.data,
    from: '2026-03-27T23:00:00.000Z',
    to: '2026-03-29T22:00:00.000Z',
    bucket: 'day',
    tz: 'Europe/Berlin',
    points: [
      { timestamp: '2026-03-27T23:00:00.000Z', temp: 11.2, min: 10.1, max: 12.3, count: 1440 },
      { timestamp: '2026-03-28T23:00:00.000Z', temp: 11.4, min: 10.3, max: 12.5, count: 1380 },
    ],
  },
}

function historyOf(change: Partial<HistoryResponse['data']>): HistoryResponse {
  return { data: { ...history.data, ...change } }
}

/** By the name of the file in schemas/, without its extension. */
export const NAMED_EXAMPLES: ReadonlyMap<string, Readonly<Record<string, NamedExample>>> = new Map([
  [
    'request/measurement',
    {
      whole: { summary: 'With everything', value: measurement },
      least: {
        summary: 'The least: it may be stored twice if sent twice',
        value: { sn: measurement.sn, temp: measurement.temp } satisfies Measurement,
      },
    },
  ],
  [
    'response/measurement',
    {
      created: { summary: 'Stored now', value: accepted },
      duplicate: {
        summary: 'Stored before',
        value: { data: { ...accepted.data, status: 'duplicate' } } satisfies MeasurementResponse,
      },
    },
  ],
  [
    'response/batch-receipt',
    {
      mixed: { summary: 'One new, one repeated', value: EXAMPLES.get('response/batch-receipt') },
      conflict: { summary: 'An event id with other content: not stored', value: conflict },
      rejected: { summary: 'With on_invalid=skip: an invalid element', value: skipped },
    },
  ],
  [
    'response/history',
    {
      hours: { summary: 'In buckets: mean, least and greatest', value: history },
      raw: {
        summary: 'Raw: each measurement',
        value: historyOf({
          bucket: 'raw',
          points: [{ timestamp: '2026-11-20T10:15:00.000Z', temp: 11.35 }],
        }),
      },
      gap: {
        summary: 'With fill=null: a bucket without measurements',
        value: historyOf({
          points: history.data.points.map((point, at) =>
            at === 0 ? { ...point, temp: null, min: null, max: null, count: 0 } : point,
          ),
        }),
      },
      shortDay: { summary: 'Local days, one of 23 hours', value: shortDay },
      incomplete: {
        summary: 'Not all is readable yet: ask again',
        value: historyOf({ complete: false }),
      },
    },
  ],
  [
    'response/changes',
    {
      changed: { summary: 'What has changed', value: changes },
      unchanged: {
        summary: 'Nothing has',
        value: {
          data: { ...changes.data, sensors: [], deleted: [], histories: [] },
        } satisfies ChangesResponse,
      },
      reset: {
        summary: 'Forget what you keep: these are all sensors',
        value: {
          data: { ...changes.data, reset: true, deleted: [], histories: [] },
        } satisfies ChangesResponse,
      },
    },
  ],
])
