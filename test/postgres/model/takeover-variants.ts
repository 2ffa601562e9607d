// The scenarios in which the model of a takeover is explored.

import type { TakeoverScenario, TakeoverWays } from './takeover.ts'

const ways: TakeoverWays = {
  compared: 'as found',
  vouched: 'by every holder',
  late: 'compares',
  seen: 'heads and fences',
  asleep: 'is silent',
}
const once = { looks: Infinity, commits: 1, takes: 2, leaves: 0, kills: 0, starts: 0, sleeps: 0 }
const never = { backups: 0, restores: 0, promotions: 0 }

export const RESTORE: TakeoverScenario = {
  ways,
  budget: { ...once, ...never, kills: 1, backups: 1, restores: 1 },
}

export const SLEEP: TakeoverScenario = {
  ways,
  budget: { ...RESTORE.budget, looks: 1, sleeps: 1 },
}

export const TAKEOVERS: Readonly<Record<string, TakeoverScenario>> = {
  'a standby is promoted': {
    ways,
    budget: { ...once, ...never, promotions: 1 },
  },
  'a backup is restored after a promotion': {
    ways,
    budget: { ...once, ...never, looks: 0, backups: 1, restores: 1, promotions: 1 },
  },
}

/** With more that may happen, but for the first two: they take seconds. */
export const LONG_TAKEOVERS: Readonly<Record<string, TakeoverScenario>> = {
  'a backup is restored': RESTORE,
  'a backup is restored while somebody sleeps': SLEEP,
  'a standby is promoted, and streams are left': {
    ways,
    budget: { ...once, ...never, leaves: 1, promotions: 1 },
  },
  'a backup is restored, and others start': {
    ways,
    budget: { ...RESTORE.budget, starts: 1 },
  },
  'a backup is restored twice': {
    ways,
    budget: { ...once, ...never, backups: 1, restores: 2 },
  },
}
