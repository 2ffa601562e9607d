// Keys for the whole page: `/` searches, `?` lists all keys.

export function listenToKeys() {
  document.addEventListener('keydown', (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event
    const isTyping = target instanceof Element && target.matches('input, select')
    if (isTyping || ctrlKey || metaKey || altKey) return
    if (key === '?') void showKeys()
    const search = document.querySelector('main [type=search]')
    if (key !== '/' || !(search instanceof HTMLElement)) return
    // Some browsers would open a search of their own.
    event.preventDefault()
    search.focus()
  })
}

async function showKeys() {
  const { showKeyList } = await import('./key-list.js')
  showKeyList()
}
