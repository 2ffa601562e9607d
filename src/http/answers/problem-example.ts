// An example of each error, for the page that explains it and for the OpenAPI document.

import { ServiceError } from '../../domain/errors.ts'
import type { ErrorCode } from '../../domain/errors.ts'
import { presentError } from './errors.ts'

const REQUEST_ID = '7d3c0a4e-5a86-4c8f-9f0d-6a0f3f1b2c11'

/** The additional members of some errors' examples. */
const MEMBERS: Partial<Record<ErrorCode, Readonly<Record<string, unknown>>>> = {
  body_too_large: { limit: 4_194_304 },
  batch_too_large: { limit: 500 },
  range_too_large: { max_period: 'P7D', suggested_bucket: 'minute' },
  event_id_conflict: {
    existing: {
      event_id: '0192f3c1-7a44-7cc0-9d5e-0b1d6e1c7a55',
      sn: '28FF641E93160434',
      sensor_id: 7,
      temp: 11.75,
      timestamp: '2026-11-20T10:15:00.000Z',
    },
  },
}

/** A response with this error. */
export function exampleOf(code: ErrorCode): unknown {
  const detail = 'must be at most 10000'
  const error = new ServiceError(code, {
    members: MEMBERS[code] ?? {},
    ...(code === 'validation_failed' && {
      faults: [{ pointer: '/temp', code: 'maximum', detail }],
    }),
  })
  return JSON.parse(presentError(error, REQUEST_ID).body)
}
