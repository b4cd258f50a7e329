// Codes of an authenticator app. Source: RFC 6238; the secret comes in base32 (RFC 4648).
import { createHmac } from 'node:crypto'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const step = 30_000

/** The code that an app shows for a secret, now or some steps of half a minute later. */
export const totp = (secret, later = 0) => {
  const bits = [...secret.replace(/=+$/, '')].map((sign) => alphabet.indexOf(sign).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / step) + later))
  const hash = createHmac('sha1', key).update(counter).digest()
  const start = hash.at(-1) & 15
  return String((hash.readUInt32BE(start) & 0x7fffffff) % 1e6).padStart(6, '0')
}

/** A code that the app does not show, now or near now. */
export const wrongTotp = (secret) => {
  const near = [-2, -1, 0, 1, 2].map((later) => totp(secret, later))
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !near.includes(code))
}
