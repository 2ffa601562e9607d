// The button for light, dark, or as the system says; theme.js applies a choice before anything is
// painted.

import { icon } from './element.js'

const CHOICE = 'thermolog.theme'
const LABELS = { system: 'as the system', light: 'light', dark: 'dark' }

/** @typedef {keyof typeof LABELS} Theme */

/** @param {HTMLElement} button */
export function showTheme(button) {
  const theme = chosen()
  button.setAttribute('aria-label', `Light or dark: ${LABELS[theme]}`)
  button.title = `Light or dark: ${LABELS[theme]}`
  button.replaceChildren(icon(`theme-${theme}`))
}

/** First the other one, then back by way of the first. @param {HTMLElement} button */
export function switchTheme(button) {
  const ofSystem = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  const other = ofSystem === 'dark' ? 'light' : 'dark'
  /** @type {Record<string, Theme>} */
  const next = { system: other, [other]: ofSystem, [ofSystem]: 'system' }
  const theme = next[chosen()] ?? 'system'
  if (theme === 'system') {
    localStorage.removeItem(CHOICE)
    delete document.documentElement.dataset['theme']
  } else {
    localStorage.setItem(CHOICE, theme)
    document.documentElement.dataset['theme'] = theme
  }
  showTheme(button)
  document.dispatchEvent(new Event('thermolog-theme'))
}

/** @returns {Theme} */
function chosen() {
  const theme = document.documentElement.dataset['theme']
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}
