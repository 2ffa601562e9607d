// Light, dark, or as the system says; theme.js applies a choice before anything is painted.

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
