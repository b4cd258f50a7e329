// Two throw-away wallets, as browsers offer them to applications. Not for money: nothing here guards against timing.
// Sources: EIP-1193 and EIP-191 (Ethereum), SEC 1 and 2 (secp256k1), FIPS 202's permutation with Keccak's first padding.
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const mask = (1n << 64n) - 1n
const turn = (lane, by) => ((lane << by) | (lane >> (64n - by))) & mask

/** Keccak-256 of bytes. */
export const keccak = (bytes) => {
  const rate = 136
  const padded = Buffer.concat([bytes, Buffer.alloc(rate - (bytes.length % rate))])
  padded[bytes.length] ^= 0x01
  padded[padded.length - 1] ^= 0x80
  let state = Array(25).fill(0n)
  for (let start = 0; start < padded.length; start += rate) {
    for (let lane = 0; lane < rate / 8; lane += 1) state[lane] ^= padded.readBigUInt64LE(start + 8 * lane)
    state = permuted(state)
  }
  const hash = Buffer.alloc(32)
  for (let lane = 0; lane < 4; lane += 1) hash.writeBigUInt64LE(state[lane], 8 * lane)
  return hash
}

function permuted(state) {
  let register = 1
  const nextBit = () => {
    const bit = register & 1
    register = (register << 1) ^ (register & 0x80 ? 0x171 : 0)
    return bit
  }
  for (let round = 0; round < 24; round += 1) {
    const columns = [0, 1, 2, 3, 4].map((x) => state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20])
    state = state.map((lane, at) => lane ^ columns[(at + 4) % 5] ^ turn(columns[(at + 1) % 5], 1n))
    const moved = [...state]
    let [x, y, lane] = [1, 0, state[1]]
    for (let step = 0; step < 24; step += 1) {
      [x, y] = [y, (2 * x + 3 * y) % 5]
      const kept = state[x + 5 * y]
      moved[x + 5 * y] = turn(lane, BigInt(((step + 1) * (step + 2) / 2) % 64))
      lane = kept
    }
    state = moved.map((each, at) => {
      const row = at - (at % 5)
      return each ^ (~moved[row + ((at + 1) % 5)] & mask & moved[row + ((at + 2) % 5)])
    })
    for (let power = 0; power < 7; power += 1) if (nextBit()) state[0] ^= 1n << BigInt(2 ** power - 1)
  }
  return state
}

const field = 2n ** 256n - 2n ** 32n - 977n
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const base = [
  0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n, 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
]
const modulo = (value, by) => ((value % by) + by) % by
const inverse = (value, by) => {
  let [a, b, x, y] = [modulo(value, by), by, 1n, 0n]
  while (a > 1n) [a, b, x, y] = [b % a, a, y - (b / a) * x, x]
  return modulo(x, by)
}
const plus = (p, q) => {
  if (!p || !q) return p ?? q
  if (p[0] === q[0] && p[1] !== q[1]) return null
  const slope = p[0] === q[0] ? 3n * p[0] * p[0] * inverse(2n * p[1], field) : (q[1] - p[1]) * inverse(q[0] - p[0], field)
  const x = modulo(slope * slope - p[0] - q[0], field)
  return [x, modulo(slope * (p[0] - x) - p[1], field)]
}
const times = (count) => {
  let [sum, power] = [null, base]
  for (let rest = count; rest > 0n; rest >>= 1n) {
    if (rest & 1n) sum = plus(sum, power)
    power = plus(power, power)
  }
  return sum
}
const wide = (number) => Buffer.from(number.toString(16).padStart(64, '0'), 'hex')
const secretNumber = () => modulo(BigInt(`0x${randomBytes(48).toString('hex')}`), order - 1n) + 1n

/** A wallet of Ethereum, as `window.ethereum` is one. */
export const ethereumWallet = () => {
  const key = secretNumber()
  const address = `0x${keccak(Buffer.concat(times(key).map(wide))).subarray(12).toString('hex')}`
  const signature = (message) => {
    const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${message.length}`)
    const hash = BigInt(`0x${keccak(Buffer.concat([prefix, message])).toString('hex')}`)
    const nonce = secretNumber()
    const [x, y] = times(nonce)
    const s = modulo(inverse(nonce, order) * (hash + x * key), order)
    const isHigh = s > order / 2n
    const parity = Number(y & 1n) ^ Number(isHigh)
    return `0x${Buffer.concat([wide(x), wide(isHigh ? order - s : s), Buffer.from([27 + parity])]).toString('hex')}`
  }
  const request = async ({ method, params }) => {
    switch (method) {
      case 'eth_requestAccounts': return [address]
      case 'eth_chainId': return '0x1'
      case 'personal_sign': return signature(Buffer.from(params[0].slice(2), 'hex'))
      default: throw new Error(method)
    }
  }
  return { address, request, signature: (text) => signature(Buffer.from(text)) }
}

/** A wallet of Solana, as `window.solana` is one. */
export const solanaWallet = () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const address = base58(Buffer.from(publicKey.export({ format: 'jwk' }).x, 'base64url'))
  return {
    publicKey: { toBase58: () => address },
    signMessage: async (message) => new Uint8Array(sign(null, message, privateKey)),
  }
}

function base58(bytes) {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
  let text = ''
  for (let rest = BigInt(`0x${bytes.toString('hex')}`); rest > 0n; rest /= 58n) text = alphabet[Number(rest % 58n)] + text
  return '1'.repeat(bytes.findIndex((byte) => byte !== 0)) + text
}
