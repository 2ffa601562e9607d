// The service's version, its operator's links, its documents.

import { element, setText } from './element.js'
import { explainUnread } from './explain.js'

/** @import { Bootstrap } from './api.js' */

const DOCUMENTS = /** @type {const} */ ([
  ['docs/daemon.md', 'How devices send'],
  ['docs', 'API'],
])

/** @param {Promise<Bootstrap>} bootstrap */
export function aboutSection(bootstrap) {
  const version = element('p', { role: 'status' })
  const links = element('p', { class: 'links' })
  const show = async () => {
    const documents = DOCUMENTS.map(([href, text]) => element('a', { href }, text))
    links.replaceChildren(...documents)
    try {
      const { app, links: named } = await bootstrap
      setText(version, `${app.name} ${app.version}`)
      links.prepend(...Object.entries(named).map(([name, href]) => link(name, href)))
    } catch (error) {
      setText(version, explainUnread(error))
    }
  }
  void show()
  return element('section', {}, element('h2', {}, 'About'), version, links)
}

/** @param {string} name @param {string} href */
function link(name, href) {
  return element('a', { href }, name.charAt(0).toUpperCase() + name.slice(1))
}
