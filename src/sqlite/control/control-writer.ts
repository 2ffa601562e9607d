// ControlWriter and StoreUpkeep for the main thread: each call goes to the commit thread.

import type { ControlWriter } from '../../ports/control-writer.ts'
import type { StoreUpkeep } from '../../ports/store-upkeep.ts'
import type { CommitChannel } from '../commit/commit-channel.ts'

/** @param onJournalled is told of new journal rows and their number of measurements */
export function createControlWriter(
  channel: CommitChannel,
  onJournalled: (measurements: number) => void,
): ControlWriter {
  return {
    createUser: (email, name) => channel.call('createUser', email, name),
    renameUser: (userId, change) => channel.call('renameUser', userId, change),
    deleteUser: async (userId) => {
      const sensors = await channel.call('deleteUser', userId)
      if (sensors !== undefined) onJournalled(0)
      return sensors
    },
    deleteAccount: async (userId) => {
      const isDeleted = await channel.call('deleteAccount', userId)
      if (isDeleted) onJournalled(0)
      return isDeleted
    },
    signIn: (order) => channel.call('signIn', order),
    createSignInLink: (link) => channel.call('createSignInLink', link),
    redeemSignInLink: (order) => channel.call('redeemSignInLink', order),
    unlinkIdentity: (userId, issuer) => channel.call('unlinkIdentity', userId, issuer),
    createToken: (token) => channel.call('createToken', token),
    revokeToken: (tokenId) => channel.call('revokeToken', tokenId),
    rotateToken: (tokenId, order) => channel.call('rotateToken', tokenId, order),
    recordTokenUses: (uses) => channel.call('recordTokenUses', uses),
    noteSkipped: (skipped) => channel.call('noteSkipped', skipped),
    noteStoredLines: (tokenId) => channel.call('noteStoredLines', tokenId),
    keepRefused: (refused) => channel.call('keepRefused', refused),
    noteRefusedRetries: (retries) => channel.call('noteRefusedRetries', retries),
    dropRefused: (ids) => channel.call('dropRefused', ids),
    createSensor: async (userId, serialNumber, alias) => {
      const sensor = await channel.call('createSensor', userId, serialNumber, alias)
      if (typeof sensor === 'object') onJournalled(0)
      return sensor
    },
    changeSensor: async (userId, sensorId, change) => {
      const sensor = await channel.call('changeSensor', userId, sensorId, change)
      if (sensor !== undefined) onJournalled(0)
      return sensor
    },
    deleteSensor: async (userId, sensorId) => {
      const wasThere = await channel.call('deleteSensor', userId, sensorId)
      if (wasThere) onJournalled(0)
      return wasThere
    },
  }
}

/** @param onJournalled is told of new journal rows and their number of measurements */
export function createStoreUpkeep(
  channel: CommitChannel,
  onJournalled: (measurements: number) => void,
): StoreUpkeep {
  return {
    adoptStore: (name) => channel.call('adoptStore', name),
    switchStore: (change) => channel.call('switchStore', change),
    retrySetAside: async (ids) => {
      const retried = await channel.call('retrySetAside', ids)
      if (retried > 0) onJournalled(retried)
      return retried
    },
    dropSetAside: (ids) => channel.call('dropSetAside', ids),
  }
}
