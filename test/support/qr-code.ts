// Reads QR codes that are drawn on a terminal.

import { decodeQR } from 'qr/decode.js'

/** Pixels of a module: readers want more than one. */
const SCALE = 4

/** What the code says whose half blocks are in a text. */
export function readQrCode(shown: string): string {
  const lines = shown.match(/[ ▄▀█]{20,}/g) ?? []
  const rows = lines.flatMap((line) => [
    Array.from(line, (half) => '▀█'.includes(half)),
    Array.from(line, (half) => '▄█'.includes(half)),
  ])
  const size = Math.min(rows.length, rows[0]?.length ?? 0) * SCALE
  const data = new Uint8Array(4 * size * size)
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const isDark = rows[Math.floor(y / SCALE)]?.[Math.floor(x / SCALE)] ?? false
      data.set([...Array<number>(3).fill(isDark ? 0 : 255), 255], 4 * (y * size + x))
    }
  }
  return decodeQR({ width: size, height: size, data })
}
