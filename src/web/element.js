// Creates the page's elements. Markup is never made from text, so a sensor's name cannot become
// markup.

const SVG = 'http://www.w3.org/2000/svg'

/**
 * @typedef {Node | string | undefined} Child
 * @typedef {Readonly<Record<string, string | boolean | undefined>>} Attributes
 */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes] `false` and `undefined` leave one out, `true` makes it empty
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  setAttributes(made, attributes)
  made.append(...children.filter((child) => child !== undefined))
  return made
}

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} attributes
 * @param {...Node} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svgElement(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag)
  setAttributes(made, attributes)
  made.append(...children)
  return made
}

/**
 * An icon from index.html, hidden from screen readers.
 *
 * @param {string} name
 */
export function icon(name) {
  const use = svgElement('use', { href: `#icon-${name}` })
  return svgElement('svg', { class: 'icon', 'aria-hidden': 'true' }, use)
}

/**
 * @param {Attributes & { readonly label?: string | undefined }} attributes
 * @param {() => void} onClick
 * @param {...Child} children
 */
export function button({ label, ...attributes }, onClick, ...children) {
  const made = element('button', { type: 'button', 'aria-label': label, ...attributes })
  made.append(...children.filter((child) => child !== undefined))
  made.addEventListener('click', onClick)
  return made
}

/**
 * Writes a text only if it differs: live regions announce every change.
 *
 * @param {Element} where
 * @param {string} text
 */
export function setText(where, text) {
  if (where.textContent !== text) where.textContent = text
}

/**
 * @param {Element} made
 * @param {Attributes} attributes
 */
function setAttributes(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    made.setAttribute(name, value === true ? '' : value)
  }
}
