// A command to type into a terminal, with a button that copies it.

import { button, element, setText } from './element.js'

/**
 * @param {string} command may have several lines
 * @param {{ label?: string }} [options] `label`: of the button, if there are several
 */
export function commandBox(command, { label } = {}) {
  const code = element('code', {}, command)
  const said = element('p', { class: 'muted', role: 'status' })
  const copy = () => {
    setText(said, copyText(code) ? 'Copied' : 'Selected: copy it with the keyboard')
  }
  const box = element('div', { class: 'command' }, element('pre', {}, code))
  box.append(button({ label }, copy, 'Copy'), said)
  return box
}

/** @param {HTMLElement} code @returns whether it is in the clipboard */
function copyText(code) {
  // `navigator.clipboard` needs https. This works everywhere and leaves the text selected.
  getSelection()?.selectAllChildren(code)
  return document.execCommand('copy')
}

/** Quotes a word for a shell. @param {string} word */
export function shellWord(word) {
  return /^[\w@.+:/-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
