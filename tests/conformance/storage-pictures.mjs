// Pictures for the tests: painted here, and measured by the first bytes of their formats.
import { crc32, deflateSync } from 'node:zlib'

/** Paint a PNG: red on the left, blue on the right. */
export const png = (width, height) => {
  const line = Buffer.alloc(1 + width * 3)
  for (let x = 0; x < width; x += 1) line[1 + x * 3 + (x < width / 2 ? 0 : 2)] = 255
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 2], 8)
  const parts = [['IHDR', head], ['IDAT', deflateSync(Buffer.concat(Array(height).fill(line)))], ['IEND', Buffer.alloc(0)]]
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts.map(([name, data]) => chunk(Buffer.from(name), data))])
}

/** A drawing of 200 by 100. */
export const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"><rect width="200" height="100" fill="#27c"/></svg>'

/** Give format and size of a picture: `png 100x50`. */
export const measured = (bytes) => {
  const latin = bytes.toString('latin1')
  if (latin.startsWith('\x89PNG')) return `png ${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
  if (latin.startsWith('RIFF') && latin.startsWith('WEBPVP8 ', 8)) return `webp ${bytes.readUInt16LE(26) & 0x3fff}x${bytes.readUInt16LE(28) & 0x3fff}`
  if (latin.startsWith('RIFF') && latin.startsWith('WEBPVP8X', 8)) return `webp ${bytes.readUIntLE(24, 3) + 1}x${bytes.readUIntLE(27, 3) + 1}`
  if (latin.startsWith('ftypavif', 4)) {
    const at = latin.indexOf('ispe')
    return `avif ${bytes.readUInt32BE(at + 8)}x${bytes.readUInt32BE(at + 12)}`
  }
  if (latin.startsWith('\xff\xd8')) return `jpeg ${jpegSize(bytes)}`
  return latin.includes('<svg') ? 'svg' : `no picture: ${latin.slice(0, 20)}`
}

function jpegSize(bytes) {
  for (let at = 2; at < bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    const isFrame = bytes[at + 1] >= 0xc0 && bytes[at + 1] <= 0xc2
    if (isFrame) return `${bytes.readUInt16BE(at + 7)}x${bytes.readUInt16BE(at + 5)}`
  }
  return 'of no size'
}

function chunk(name, data) {
  const all = Buffer.alloc(12 + data.length)
  all.writeUInt32BE(data.length, 0)
  Buffer.concat([name, data]).copy(all, 4)
  all.writeUInt32BE(crc32(all.subarray(4, 8 + data.length)), 8 + data.length)
  return all
}
