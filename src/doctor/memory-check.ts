// Compares the service's memory limit with its ledger's needs.

import { totalmem } from 'node:os'
import type { Environment } from '../config-settings.ts'
import { grouped } from '../domain/grouped.ts'
import { CONTROL_FILE, LEDGER_FILE, openForReading } from '../sqlite/database.ts'
import { countEventIds } from '../sqlite/verify/ledger-check.ts'
import { sizeText } from '../system/disk.ts'
import { memoryLimit, neededMemoryBytes, restingMemoryBytes } from '../system/memory.ts'
import { Check, reasonOf, VERIFY } from './check.ts'
import type { CheckResult } from './check.ts'

const UNIT_BYTES: Readonly<Record<string, number>> = {
  '': 1,
  K: 2 ** 10,
  M: 2 ** 20,
  G: 2 ** 30,
  T: 2 ** 40,
}

const memoryCheck = new Check('memory')

interface MemoryLimit {
  readonly bytes: number
  readonly of: string
  readonly remedy: string
}

/** @param unit `undefined`: no unit starts the service */
export function checkMemory(dataDir: string, unit: Environment | undefined): CheckResult {
  const events = countEvents(dataDir)
  if (typeof events !== 'number') return events
  const [restingBytes, neededBytes] = [restingMemoryBytes(events), neededMemoryBytes(events)]
  const { bytes, of, remedy } = limitOf(unit)
  const limit = `${of} is ${sizeText(bytes)}`
  const withIds = `with ${grouped(events)} event ids`
  const needed = `the service needs ${sizeText(neededBytes)} at full load ${withIds}`
  if (neededBytes <= bytes) return memoryCheck.ok(`${needed}; ${limit}`)
  if (restingBytes <= bytes) return memoryCheck.warning(`${needed}, but ${limit}`, remedy)
  const resting = `the service needs ${sizeText(restingBytes)} at rest ${withIds}`
  return memoryCheck.wrong(`${resting}, but ${limit}`, remedy)
}

/** @returns a result if the ledger cannot be read */
function countEvents(dataDir: string): number | CheckResult {
  try {
    const ledger = openForReading(dataDir, LEDGER_FILE)
    const control = openForReading(dataDir, CONTROL_FILE)
    try {
      return countEventIds(control, ledger)
    } finally {
      control.close()
      ledger.close()
    }
  } catch (error) {
    return memoryCheck.wrong(`the ledger cannot be read: ${reasonOf(error)}`, VERIFY)
  }
}

/** The smallest limit. */
function limitOf(unit: Environment | undefined): MemoryLimit {
  const machine = { bytes: totalmem(), of: 'the memory of this machine', remedy: 'add memory' }
  const inUnit = ['MemoryHigh', 'MemoryMax'].map((key) => ({
    bytes: bytesOf(unit?.[key], machine.bytes),
    of: `${key}= of thermolog.service`,
    remedy: `raise it: systemctl edit thermolog, with [Service] and ${key}=`,
  }))
  const group = {
    // For a unit, the control group of this process does not matter.
    bytes: unit === undefined ? (memoryLimit() ?? Infinity) : Infinity,
    of: 'the limit of this container or control group',
    remedy: 'raise the limit; in Docker it is `--memory`, in Compose `mem_limit`',
  }
  return [...inUnit, group, machine].reduce((least, each) =>
    each.bytes < least.bytes ? each : least,
  )
}

/** In systemd's notation: `1G`, `50%`, `infinity`. */
function bytesOf(size: string | undefined, totalBytes: number): number {
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?)([KMGT%]?)$/.exec(size?.trim() ?? '') ?? []
  if (digits === '') return Infinity
  if (unit === '%') return (Number(digits) / 100) * totalBytes
  return Number(digits) * (UNIT_BYTES[unit] ?? Infinity)
}
