// Light, dark, or the system's; theme.js applies the choice before the first paint.

const CHOICE = 'thermolog.theme'

/** @typedef {'system' | 'light' | 'dark'} Theme */

/** @returns {Theme} */
export function chosenTheme() {
  const theme = document.documentElement.dataset['theme']
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

/** @param {Theme} theme */
export function chooseTheme(theme) {
  if (theme === 'system') {
    localStorage.removeItem(CHOICE)
    delete document.documentElement.dataset['theme']
  } else {
    localStorage.setItem(CHOICE, theme)
    document.documentElement.dataset['theme'] = theme
  }
}
