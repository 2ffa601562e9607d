// The keys of the page, listed on top of it until somebody closes the list.

import { button, element } from './element.js'

const KEYS = {
  '/': 'Search',
  '?': 'This list',
  '← →': 'Move the chart',
  'Page Up, Down': 'Move it by a whole period',
  '+ −': 'Zoom',
  'Shift ← →': 'Read point after point',
  End: 'Go to now',
  Home: 'Undo moves and zooms',
  Esc: 'Leave the point, or full screen',
}

export function showKeyList() {
  if (document.querySelector('dialog') !== null) return
  const rows = Object.entries(KEYS).map(([keys, text]) =>
    element('div', {}, element('dt', {}, text), element('dd', {}, keys)),
  )
  const list = element(
    'dialog',
    { class: 'question keys', closedby: 'any', 'aria-label': 'Keys' },
    element('h2', {}, 'Keys'),
    element('dl', {}, ...rows),
    element('p', { class: 'muted' }, 'Keys of a chart need the focus on it: Tab, or a click.'),
    button({ class: 'primary' }, () => list.close(), 'Close'),
  )
  list.addEventListener('close', () => list.remove())
  document.body.append(list)
  list.showModal()
}
