// What the page keeps on the device, in IndexedDB: the sensors with their cursor, and responses
// with histories. Signing out deletes all of it. If a browser keeps nothing, the page works
// without.

/**
 * @import { Changes, HistoryAnswer, Sensor } from './api.js'
 * @typedef {{ userId: number, cursor: string, asOfMs: number, sensors: Sensor[] }} KeptFleet
 * @typedef {{ data: HistoryAnswer, asOfMs: number }} KeptHistory
 */

const FLEET = 'fleet'
const HISTORIES = 'histories'
/** Kept histories, by the first word of their key; beyond this, the oldest go. */
const KEPT_MAX = new Map([
  ['history', 300],
  ['last-day', 2_000],
])

/** @type {Promise<IDBDatabase | undefined> | undefined} */
let opening
/**
 * Set once it is open: a closing page has no time to wait.
 *
 * @type {IDBDatabase | undefined}
 */
let database

/** @returns {Promise<KeptFleet | undefined>} */
export function findFleet() {
  return inStore(FLEET, 'readonly', (store) => store.get(FLEET))
}

/** Keeps the sensors at once: the page may be closing. @param {KeptFleet} fleet */
export function keepFleet(fleet) {
  if (database === undefined) return
  const transaction = database.transaction(FLEET, 'readwrite')
  transaction.objectStore(FLEET).put(fleet, FLEET)
  transaction.commit()
}

/** @param {string} key @returns {Promise<KeptHistory | undefined>} */
export function findHistory(key) {
  return inStore(HISTORIES, 'readonly', (store) => store.get(key))
}

/** @param {readonly (readonly [string, KeptHistory])[]} histories of one kind, by key */
export async function keepHistories(histories) {
  const [kind = ''] = histories[0]?.[0].split('/') ?? []
  await inStore(HISTORIES, 'readwrite', (store) => {
    for (const [key, history] of histories) store.put(history, key)
    const all = store.index('asOfMs').getAllKeys()
    all.addEventListener('success', () => {
      const keys = /** @type {string[]} */ (all.result)
      const ofKind = keys.filter((key) => key.startsWith(`${kind}/`))
      for (const old of ofKind.slice(0, -(KEPT_MAX.get(kind) ?? 0))) store.delete(old)
    })
    return all
  })
}

/**
 * Forgets the changed parts of histories.
 *
 * @param {Pick<Changes, 'reset' | 'deleted' | 'histories'>} changes
 */
export async function forgetChanged({ reset, deleted, histories }) {
  if (reset) await inStore(HISTORIES, 'readwrite', (store) => store.clear())
  if (deleted.length + histories.length === 0) return
  const fromMs = new Map(deleted.map((id) => [id, -Infinity]))
  for (const { sensor_id: id, from } of histories) {
    fromMs.set(id, from === null ? -Infinity : Date.parse(from))
  }
  await inStore(HISTORIES, 'readwrite', (store) => {
    const all = store.openCursor()
    all.addEventListener('success', () => {
      const at = all.result
      if (at === null) return
      const kept = /** @type {KeptHistory} */ (at.value)
      const left = beforeChange(kept, fromMs.get(kept.data.sensor.id) ?? Infinity)
      if (left === undefined) at.delete()
      else if (left !== kept) at.update(left)
      at.continue()
    })
    return all
  })
}

/** Forgets everything, on sign-out. */
export async function forgetAll() {
  await inStore(FLEET, 'readwrite', (store) => store.clear())
  await inStore(HISTORIES, 'readwrite', (store) => store.clear())
}

/**
 * The part of a history before a time from which everything may differ.
 *
 * @param {KeptHistory} kept
 * @param {number} fromMs
 * @returns {KeptHistory | undefined} `undefined`: nothing
 */
export function beforeChange(kept, fromMs) {
  const { bucket, points, to } = kept.data
  if (fromMs >= Date.parse(to)) return kept
  const end = points.findIndex(({ timestamp }) => Date.parse(timestamp) >= fromMs)
  const whole = end === -1 ? points.length : end
  // The bucket that contains the time has changed too.
  const left = bucket === 'raw' ? whole : whole - 1
  const first = points[left]
  if (left <= 0 || first === undefined) return undefined
  return { ...kept, data: { ...kept.data, to: first.timestamp, points: points.slice(0, left) } }
}

/**
 * @param {string} name of the store
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest} ask
 * @returns {Promise<any>} what was found; `undefined` if nothing can be kept
 */
async function inStore(name, mode, ask) {
  const opened = await openOnce()
  if (opened === undefined) return undefined
  const transaction = opened.transaction(name, mode)
  const request = ask(transaction.objectStore(name))
  return new Promise((resolve) => {
    transaction.addEventListener('complete', () => resolve(request.result))
    transaction.addEventListener('abort', () => resolve(undefined))
  })
}

/** @returns {Promise<IDBDatabase | undefined>} */
function openOnce() {
  opening ??= new Promise((resolve) => {
    if (globalThis.indexedDB === undefined) return resolve(undefined)
    const request = indexedDB.open('thermolog', 1)
    request.addEventListener('upgradeneeded', () => {
      request.result.createObjectStore(FLEET)
      request.result.createObjectStore(HISTORIES).createIndex('asOfMs', 'asOfMs')
    })
    request.addEventListener('success', () => {
      database = request.result
      resolve(database)
    })
    request.addEventListener('error', () => resolve(undefined))
  })
  return opening
}
