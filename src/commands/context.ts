// What operators' commands work on: the ports of a service, or of a command that opened the data
// itself because none runs.

import type { AccessTokens } from '../access/tokens.ts'
import type { User } from '../domain/access.ts'
import type { OnlineSettings } from '../domain/sensor.ts'
import type { Submissions } from '../ingest/submissions.ts'
import type { StoredSources } from '../operations/equal-measurements.ts'
import { failed } from '../operations/failure.ts'
import type { LineNames } from '../operations/read-refused.ts'
import type { ControlReader } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { StoreUpkeep } from '../ports/store-upkeep.ts'
import type { Clock, OwnClock } from '../ports/system.ts'
import type { Arguments, Command } from './command.ts'

export interface Collaborators extends StoredSources {
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly storeUpkeep: Pick<StoreUpkeep, 'retrySetAside' | 'dropSetAside'>
  readonly submissions: Pick<Submissions, 'submit'>
  /**
   * Notified of tokens that end, and asked for times of last use; absent where no requests arrive.
   */
  readonly accessTokens?: Pick<AccessTokens, 'forgetToken' | 'forgetUser' | 'lastUsedAtMs'>
  readonly clock: Clock
  /** `undefined`: the clock that counts is another server's. */
  readonly ownClock?: Pick<OwnClock, 'accept'>
}

export interface CommandSettings extends OnlineSettings, LineNames {
  readonly mobileTokenIdleMs: number
  /** Where people reach the service. */
  readonly publicUrl: string
  readonly mayRegisterSensors: boolean
  readonly sensorsPerUserMax: number
  readonly measuredAtMsMin: number
}

export interface Context extends Collaborators {
  readonly settings: CommandSettings
}

/** A row of an operator's command, which a running service carries out. */
export function operatorCommand<const Path extends string, Of extends Arguments, Result>(
  row: Command<Context, Path, Of, Result>,
): Command<Context, Path, Of, Result> {
  return row
}

const SEE_USERS = 'See `thermolog user list`.'

/** @throws OperationError if nobody has the address */
export async function findUser(
  { control }: Pick<Context, 'control'>,
  address: string,
  hint = SEE_USERS,
): Promise<User> {
  const user = await control.findUser(address)
  if (user !== undefined) return user
  throw failed(`no user has the address ${address}`, hint)
}

/** Whoever is to own something. @throws OperationError if nobody has the address */
export function findOwner(context: Pick<Context, 'control'>, address: string): Promise<User> {
  const hint = `Create the user first: thermolog user create --email ${address}`
  return findUser(context, address, hint)
}
