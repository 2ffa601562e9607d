// How the page looks in this browser: unit and theme.

import { choices, chosenValues } from './choices.js'
import { element } from './element.js'
import { TIME_ZONE } from './format.js'
import { chooseUnit, chosenUnit } from './locale.js'
import { chooseTheme, chosenTheme } from './theme-choice.js'

const UNITS = { C: '°C', F: '°F' }
const THEMES = { system: 'System', light: 'Light', dark: 'Dark' }

export function displaySection() {
  const unit = choices('Temperature', { name: 'unit', type: 'radio' }, listed(UNITS, chosenUnit()))
  const theme = choices('Theme', { name: 'theme', type: 'radio' }, listed(THEMES, chosenTheme()))
  unit.addEventListener('change', () => {
    chooseUnit(chosenValues(unit, 'unit')[0] === 'F' ? 'F' : 'C')
  })
  theme.addEventListener('change', () => {
    const [chosen] = chosenValues(theme, 'theme')
    chooseTheme(chosen === 'light' || chosen === 'dark' ? chosen : 'system')
  })
  const said = `In this browser only. Times in ${TIME_ZONE}. Press ? for the keys.`
  const note = element('p', { class: 'muted' }, said)
  return element('section', {}, element('h2', {}, 'Display'), unit, theme, note)
}

/** @param {Readonly<Record<string, string>>} texts @param {string} chosen */
function listed(texts, chosen) {
  return Object.entries(texts).map(([value, text]) => ({ value, text, isChosen: value === chosen }))
}
