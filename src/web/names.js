// Names used on the page: the operator's for the service, this installation's for the command.

/** What the operator calls the service, in the page and its titles. */
export const APP_NAME = metaContent('application-name')

/** `bin/thermolog` or `thermolog`. */
export const COMMAND = metaContent('thermolog-command')

/** Names the tab after a view. @param {string} title */
export function setTitle(title) {
  document.title = `${title} · ${APP_NAME}`
}

/** @param {string} name */
function metaContent(name) {
  const meta = globalThis.document?.querySelector(`meta[name="${name}"]`)
  return meta?.getAttribute('content') ?? ''
}
