// ControlWriter as the main thread sees it: each call goes to the commit thread.

import { refusalError } from '../../domain/refusal.ts'
import type { ControlWriter } from '../../ports.ts'
import { StorageFull } from '../commit-channel.ts'
import type { CommitChannel } from '../commit-channel.ts'

/** @param onJournalled told of new journal rows, with how many measurements they have */
export function createControlWriter(
  channel: CommitChannel,
  onJournalled: (measurements: number) => void,
): ControlWriter {
  return {
    createUser: (email, name) => refusing(channel.call('createUser', email, name)),
    deleteUser: async (userId) => {
      const sensors = await refusing(channel.call('deleteUser', userId))
      if (sensors !== undefined) onJournalled(0)
      return sensors
    },
    signIn: (order) => refusing(channel.call('signIn', order)),
    unlinkIdentity: (userId, issuer) => refusing(channel.call('unlinkIdentity', userId, issuer)),
    createToken: (token) => refusing(channel.call('createToken', token)),
    revokeToken: (tokenId) => refusing(channel.call('revokeToken', tokenId)),
    recordTokenUses: (uses) => refusing(channel.call('recordTokenUses', uses)),
    adoptStore: (name) => refusing(channel.call('adoptStore', name)),
    switchStore: (change) => refusing(channel.call('switchStore', change)),
    setAside: (measurements) => refusing(channel.call('setAside', measurements)),
    retrySetAside: async (ids) => {
      const retried = await refusing(channel.call('retrySetAside', ids))
      if (retried > 0) onJournalled(retried)
      return retried
    },
    dropSetAside: (ids) => refusing(channel.call('dropSetAside', ids)),
    createSensor: async (userId, serialNumber, alias) => {
      const sensor = await refusing(channel.call('createSensor', userId, serialNumber, alias))
      if (typeof sensor === 'object') onJournalled(0)
      return sensor
    },
    changeSensor: async (userId, sensorId, change) => {
      const sensor = await refusing(channel.call('changeSensor', userId, sensorId, change))
      if (sensor !== undefined) onJournalled(0)
      return sensor
    },
    noteDeletionPass: (sensorId, dueAtMs) =>
      refusing(channel.call('noteDeletionPass', sensorId, dueAtMs)),
    deleteSensor: async (userId, sensorId) => {
      const wasThere = await refusing(channel.call('deleteSensor', userId, sensorId))
      if (wasThere) onJournalled(0)
      return wasThere
    },
  }
}

async function refusing<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call
  } catch (error) {
    if (error instanceof StorageFull) throw refusalError('storage_full', { cause: error })
    throw error
  }
}
