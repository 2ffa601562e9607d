// Touch, wheel and keys on a chart: how much to zoom and where, or how far to move. uPlot handles
// dragging over a range with a mouse, which zooms in. This file handles one finger that moves and
// two that zoom, and lets the page still scroll up and down. The wheel zooms with Ctrl, or once the
// chart has the focus.

/**
 * @typedef {{
 *   readonly zoom: (factor: number, atMs: number) => void,
 *   readonly zoomReading: (factor: number) => void,
 *   readonly move: (byMs: number) => void,
 *   readonly moveToNow: () => void,
 *   readonly reset: () => void,
 *   readonly step: (points: number) => void,
 *   readonly leave: () => void,
 *   readonly touch: (clientX: number) => void,
 * }} Gestures
 * @typedef {{ readonly timeAt: (clientX: number) => number }} Scale
 */

const WHEEL_ZOOM = 0.002
const KEY_ZOOM = 2
const KEY_SHARE = 0.25
/** A finger that moves less than this is a tap. */
const TAP_PX = 6

/**
 * @param {HTMLElement} surface
 * @param {Scale} scale
 * @param {Gestures} gestures
 */
export function listenToPointers(surface, scale, gestures) {
  surface.addEventListener('wheel', (event) => wheel(event, scale, gestures), { passive: false })
  surface.addEventListener('dblclick', () => gestures.reset())
  /** @type {Map<number, number>} */
  const fingers = new Map()
  let movedPx = 0
  surface.addEventListener('pointerdown', (event) => {
    // uPlot replaces its inner elements, so they cannot have the focus.
    surface.focus({ preventScroll: true })
    if (event.pointerType === 'mouse') return
    movedPx = 0
    fingers.set(event.pointerId, event.clientX)
    surface.setPointerCapture(event.pointerId)
  })
  surface.addEventListener('pointermove', (event) => {
    const beforePx = fingers.get(event.pointerId)
    if (beforePx === undefined) return
    movedPx += Math.abs(event.clientX - beforePx)
    const others = [...fingers].filter(([id]) => id !== event.pointerId)
    const otherPx = others[0]?.[1]
    if (movedPx > TAP_PX && otherPx === undefined) {
      gestures.move(scale.timeAt(beforePx) - scale.timeAt(event.clientX))
    } else if (otherPx !== undefined) {
      const distance = Math.max(1, Math.abs(event.clientX - otherPx))
      gestures.zoom(Math.max(1, Math.abs(beforePx - otherPx)) / distance, scale.timeAt(otherPx))
    }
    if (movedPx > TAP_PX || otherPx !== undefined) fingers.set(event.pointerId, event.clientX)
  })
  /** @param {PointerEvent} event */
  const lift = (event) => {
    const isTap = fingers.delete(event.pointerId) && movedPx <= TAP_PX
    if (isTap && event.type === 'pointerup') gestures.touch(event.clientX)
  }
  surface.addEventListener('pointerup', lift)
  surface.addEventListener('pointercancel', lift)
}

/**
 * @param {KeyboardEvent} event
 * @param {{ fromMs: number, toMs: number }} period
 * @param {Gestures} gestures
 */
export function pressKey(event, { fromMs, toMs }, gestures) {
  const { key, shiftKey, ctrlKey, metaKey, altKey } = event
  if (ctrlKey || metaKey || altKey) return
  const spanMs = toMs - fromMs
  /** @type {Readonly<Record<string, () => void>>} */
  const actions = {
    ArrowLeft: () => (shiftKey ? gestures.step(-1) : gestures.move(-spanMs * KEY_SHARE)),
    ArrowRight: () => (shiftKey ? gestures.step(1) : gestures.move(spanMs * KEY_SHARE)),
    PageUp: () => gestures.move(-spanMs),
    PageDown: () => gestures.move(spanMs),
    End: () => gestures.moveToNow(),
    Escape: () => gestures.leave(),
    Home: () => gestures.reset(),
    '+': () => gestures.zoomReading(1 / KEY_ZOOM),
    '=': () => gestures.zoomReading(1 / KEY_ZOOM),
    '-': () => gestures.zoomReading(KEY_ZOOM),
  }
  const action = actions[key]
  if (action === undefined) return
  event.preventDefault()
  action()
}

/**
 * @param {WheelEvent} event
 * @param {Scale} scale
 * @param {Gestures} gestures
 */
function wheel(event, scale, gestures) {
  const px = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1
  const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey
  const isFocused = event.currentTarget === document.activeElement
  // Otherwise the page scrolls.
  if (!isSideways && !isFocused && !event.ctrlKey && !event.metaKey) return
  event.preventDefault()
  if (isSideways) {
    const byPx = (event.deltaX || event.deltaY) * px
    gestures.move(scale.timeAt(event.clientX + byPx) - scale.timeAt(event.clientX))
  } else {
    gestures.zoom(Math.exp(event.deltaY * px * WHEEL_ZOOM), scale.timeAt(event.clientX))
  }
}
