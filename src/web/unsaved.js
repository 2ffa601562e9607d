// What leaving a view would lose, such as a token shown only once: at most one thing.

/**
 * @typedef {{
 *   readonly mayClose: (goOn: () => void) => boolean,
 *   readonly close: () => void,
 * }} Unsaved if `mayClose` returns false, it asks, and calls `goOn` if the user chooses to leave
 */

/** @type {Unsaved | undefined} */
let unsaved

/** @param {Unsaved} next */
export function holdUnsaved(next) {
  unsaved = next
}

export function isUnsaved() {
  return unsaved !== undefined
}

/** Closes it. */
export function dropUnsaved() {
  const dropped = unsaved
  unsaved = undefined
  dropped?.close()
}

/**
 * Whether the view may be left now. If so, what it showed is closed.
 *
 * @param {() => void} goOn leaves the view if the user agrees later
 */
export function mayLeave(goOn) {
  if (unsaved !== undefined && !unsaved.mayClose(goOn)) return false
  dropUnsaved()
  return true
}
