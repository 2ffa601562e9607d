// A command to type into a terminal, with a button that copies it.

import { button, element, setText } from './element.js'

/** @param {string} command may have several lines */
export function commandBox(command) {
  const code = element('code', {}, command)
  const said = element('p', { class: 'muted', role: 'status' })
  const copy = button({}, () => setText(said, copyText(code)), 'Copy')
  return element('div', { class: 'command' }, element('pre', {}, code), copy, said)
}

/** @param {HTMLElement} code @returns what came of it */
function copyText(code) {
  // `navigator.clipboard` needs https. This works everywhere, and leaves the text selected.
  getSelection()?.selectAllChildren(code)
  return document.execCommand('copy') ? 'Copied' : 'Selected: copy it with the keyboard'
}

/** A word as a shell reads it. @param {string} word */
export function shellWord(word) {
  return /^[\w@.+:/-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
