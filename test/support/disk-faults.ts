// Ordering what befalls the files and the clock of a service, from outside: disk-faults.c stands
// between it and the C library. Calls that change a file are counted, and at the one that is
// ordered the process is killed, the power is cut (what was not synced is taken back), or the call
// fails. Needs a C compiler on Linux; without one the tests are left out.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, openSync, readSync, rmSync, writeSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Environment } from './command.ts'
import { leaveOut } from './left-out.ts'

const SOURCE = fileURLToPath(new URL('disk-faults.c', import.meta.url))

const ACTIONS = ['nothing', 'count', 'kill', 'tear', 'cut power', 'EIO', 'ENOSPC'] as const
const FILES = ['control.db', 'ledger.db', 'measurements.db'] as const
const CALLS = { write: 1, sync: 2, truncate: 4, unlink: 8 }

/** As in disk-faults.c. */
const WORD = {
  action: 0,
  countdown: 1,
  calls: 2,
  files: 3,
  times: 4,
  seed: 5,
  clock: 6,
  counted: 7,
  syncMs: 8,
}
const WORD_BYTES = 8
const LAST_AT = WORD_BYTES * 9
const LAST_BYTES = 200

type FaultedFile = (typeof FILES)[number]

export interface DiskFault {
  /** `tear`: a write is done by half, then the process is killed. */
  readonly action: (typeof ACTIONS)[number]
  /** The call that it befalls, from 1 on. */
  readonly at: number
  /** Each with its log; all when left out. */
  readonly files?: readonly FaultedFile[]
  /** All when left out. */
  readonly calls?: readonly (keyof typeof CALLS)[]
  /** So many calls fail, 1 when left out. */
  readonly times?: number
  /** Of what is left of what was not synced; nothing of it is when left out. */
  readonly seed?: number
}

/** `null`: there is no compiler. */
let compiled: string | null | undefined

/** Says that the tests of the suite need it. @returns it, for tests and hooks */
export function useDiskFaults(): () => DiskFaults {
  let faults: DiskFaults | undefined
  before(function () {
    compiled = compiled === undefined ? compileDiskFaults() : compiled
    if (compiled === null) leaveOut(this, 'cc')
  })
  beforeEach(() => {
    if (typeof compiled === 'string') faults = new DiskFaults(compiled)
  })
  afterEach(() => faults?.close())
  return () => {
    if (faults === undefined) throw new Error('faults are prepared in a hook before each test')
    return faults
  }
}

process.once('exit', () => {
  if (typeof compiled === 'string') rmSync(join(compiled, '..'), { recursive: true })
})

/** @returns the library; `null`: there is no compiler */
export function compileDiskFaults(): string | null {
  // Elsewhere there is no LD_PRELOAD.
  if (process.platform !== 'linux') return null
  const target = join(mkdtempSync(join(tmpdir(), 'thermolog-faults-')), 'disk-faults.so')
  const flags = ['-O1', '-Wall', '-Werror', '-shared', '-fPIC']
  const { status, error, stderr } = spawnSync(
    'cc',
    [...flags, '-o', target, SOURCE, '-ldl', '-lpthread'],
    { encoding: 'utf8' },
  )
  if (status === 0) return target
  rmSync(join(target, '..'), { recursive: true })
  if (error !== undefined) return null
  throw new Error(stderr)
}

export class DiskFaults {
  readonly #library: string
  readonly #folder = mkdtempSync(join(tmpdir(), 'thermolog-orders-'))
  readonly #orders: number

  constructor(library: string) {
    this.#library = library
    const file = join(this.#folder, 'orders')
    writeFileSync(file, Buffer.alloc(LAST_AT + LAST_BYTES))
    this.#orders = openSync(file, 'r+')
  }

  /** For the process that it befalls. */
  get environment(): Environment {
    return { LD_PRELOAD: this.#library, FAULT_ORDERS: join(this.#folder, 'orders') }
  }

  /** From now on; counting begins anew. */
  order({ action, at, files = FILES, calls, times = 1, seed = 0 }: DiskFault): void {
    this.#write(WORD.action, 0)
    this.#write(WORD.countdown, at)
    this.#write(WORD.times, times)
    this.#write(WORD.seed, seed)
    this.#write(WORD.counted, 0)
    const bits = files.map((file) => 3 << (FILES.indexOf(file) * 2))
    this.#write(
      WORD.files,
      bits.reduce((all, bit) => all | bit, 0),
    )
    const chosen = calls?.map((call) => CALLS[call]) ?? Object.values(CALLS)
    this.#write(
      WORD.calls,
      chosen.reduce((all, bit) => all | bit, 0),
    )
    this.#write(WORD.action, ACTIONS.indexOf(action))
  }

  /** Nothing befalls it any more. */
  rest(): void {
    this.#write(WORD.action, 0)
  }

  /** How many calls there were since the last order. */
  counted(): number {
    const bytes = Buffer.alloc(WORD_BYTES)
    readSync(this.#orders, bytes, 0, WORD_BYTES, WORD.counted * WORD_BYTES)
    return Number(bytes.readBigInt64LE())
  }

  /** What the last call was that was befallen: `sync of control.db-wal`. */
  last(): string {
    const bytes = Buffer.alloc(LAST_BYTES)
    readSync(this.#orders, bytes, 0, LAST_BYTES, LAST_AT)
    return bytes.toString('utf8', 0, bytes.indexOf(0))
  }

  /** The clock of the process is so much ahead of ours from now on. */
  setClockAhead(ms: number): void {
    this.#write(WORD.clock, ms)
  }

  /** Each sync of any file takes so long from now on, one at a time. */
  slowSyncs(ms: number): void {
    this.#write(WORD.syncMs, ms)
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #write(word: number, value: number): void {
    const bytes = Buffer.alloc(WORD_BYTES)
    bytes.writeBigInt64LE(BigInt(value))
    writeSync(this.#orders, bytes, 0, WORD_BYTES, word * WORD_BYTES)
  }
}
