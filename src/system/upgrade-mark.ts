// The mark in DATA_DIR that its files are being brought up to date: there from the backup of them
// as they were until the last one is. Whoever is interrupted goes on with what is left, and never
// takes another backup, of files of which some are new already.

import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder, writeDurably } from './disk.ts'

const MARK = 'upgrading'

export function isUpgradeBegun(dataDir: string): boolean {
  return existsSync(join(dataDir, MARK))
}

/** Durable when it resolves. @param backup the file with everything as it was */
export async function noteUpgrade(dataDir: string, backup: string): Promise<void> {
  await writeDurably(join(dataDir, MARK), `${backup}\n`)
}

/**
 * For whoever finds all files in the formats that it knows: its upgrade is done, or one by a newer
 * version was interrupted before it changed anything. Durable when it resolves.
 */
export async function forgetUpgrade(dataDir: string): Promise<void> {
  if (!isUpgradeBegun(dataDir)) return
  await rm(join(dataDir, MARK))
  await syncFolder(dataDir)
}
