// Server-sent events over fetch: EventSource cannot send the token in a header, and a token must
// never be part of a URL.

/** @typedef {{ readonly name: string, readonly data: string }} StreamEvent */

/**
 * The events of a response until it ends; one without data is a sign of life.
 *
 * @param {Response} response
 * @returns {AsyncGenerator<StreamEvent, void, undefined>}
 */
export async function* readEvents(response) {
  if (response.body === null) return
  // Not every browser can iterate over a stream.
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const blocks = (rest + part.value).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) yield readBlock(block)
  }
}

/** @param {string} block @returns {StreamEvent} */
function readBlock(block) {
  /** @type {Record<string, string[]>} */
  const fields = {}
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []
    ;(fields[name] ??= []).push(value)
  }
  const data = (fields['data'] ?? []).join('\n')
  return { name: fields['event']?.at(-1) ?? 'message', data }
}
