// What the operator calls the service, in the page and its titles.

const meta = globalThis.document?.querySelector('meta[name="application-name"]')

export const APP_NAME = meta?.getAttribute('content') ?? ''

/** Names the tab after a view. @param {string} title */
export function setTitle(title) {
  document.title = `${title} · ${APP_NAME}`
}
