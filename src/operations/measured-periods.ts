// When sensors have measurements, for an import: what it brings of other days needs no comparison.

import { setImmediate } from 'node:timers/promises'
import { serialNumberKey } from '../domain/sensor.ts'
import { DAY_MS, EVER } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import type { AcceptedDay, ControlReader } from '../ports/control-reader.ts'
import { usage } from './failure.ts'
import { importMeasurementsMax, measuredPeriodsMax } from './import-order.ts'
import { checkSerialNumber } from './serial-number.ts'

/** See `Operations.listMeasuredPeriods`. */
export async function listMeasuredPeriods(
  control: Pick<ControlReader, 'findSensors' | 'listAcceptedDays'>,
  userId: number,
  serialNumbers: unknown,
): Promise<readonly (readonly TimeRange[])[]> {
  if (!Array.isArray(serialNumbers) || serialNumbers.length > importMeasurementsMax) {
    throw usage(`an import names at most ${importMeasurementsMax} sensors at a time`)
  }
  const asked = serialNumbers.map(checkSerialNumber)
  const periods = new Map<string, readonly TimeRange[]>()
  for (const { id, serialNumber } of await control.findSensors(userId, asked)) {
    // Each is a read on the service's own thread: requests come in between.
    await setImmediate()
    const days = await control.listAcceptedDays(id, EVER)
    periods.set(serialNumberKey(serialNumber), periodsOf(days))
  }
  return asked.map((serialNumber) => periods.get(serialNumberKey(serialNumber)) ?? [])
}

function periodsOf(days: readonly AcceptedDay[]): readonly TimeRange[] {
  const periods: TimeRange[] = []
  for (const { dayMs } of days) {
    const last = periods.at(-1)
    const isNext = last?.stopMs === dayMs || periods.length === measuredPeriodsMax
    const startMs = isNext ? (periods.pop()?.startMs ?? dayMs) : dayMs
    periods.push({ startMs, stopMs: dayMs + DAY_MS })
  }
  return periods
}
