// A software authenticator: it holds passkeys and answers the two WebAuthn calls in their JSON form, as a browser with
// `PublicKeyCredential.toJSON()` does. For scripts and tests: it asks nobody for a finger.
// Source: WebAuthn Level 3, 5.8.1 (client data), 6.1 (authenticator data), 6.5 (attestation); RFC 8949 (CBOR).
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const present = 1, verified = 4, withCredential = 64 // bits of the flags in the authenticator's data

export const newAuthenticator = (origin) => {
  const held = []
  return {
    /** Make a passkey: answers what `navigator.credentials.create` gets as `publicKey`. */
    create(options) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const credential = { id: randomBytes(32), privateKey, count: 0, rpId: options.rp.id, user: options.user.id }
      held.push(credential)
      const { x, y } = publicKey.export({ format: 'jwk' })
      const point = [x, y].map((part) => Buffer.from(part, 'base64url'))
      const cose = cbor(new Map([[1, 2], [3, -7], [-1, 1], [-2, point[0]], [-3, point[1]]])) // EC2, ES256, P-256
      const length = Buffer.from([0, credential.id.length])
      const data = Buffer.concat([authenticatorData(credential, withCredential), Buffer.alloc(16), length, credential.id, cose])
      return answer(credential, {
        clientDataJSON: base64url(clientData('webauthn.create', options, origin)),
        attestationObject: base64url(cbor(new Map([['fmt', 'none'], ['attStmt', new Map()], ['authData', data]]))),
        transports: ['internal'],
      })
    },

    /** Use a passkey: answers what `navigator.credentials.get` gets as `publicKey`. */
    get(options) {
      const allowed = options.allowCredentials?.map(({ id }) => id) ?? []
      const credential = held.findLast(({ id, rpId }) => rpId === options.rpId && (allowed.length === 0 || allowed.includes(base64url(id))))
      if (!credential) throw new Error(`no passkey for ${options.rpId}`)
      credential.count += 1
      const [data, client] = [authenticatorData(credential), clientData('webauthn.get', options, origin)]
      return answer(credential, {
        clientDataJSON: base64url(client),
        authenticatorData: base64url(data),
        signature: base64url(sign('sha256', Buffer.concat([data, sha256(client)]), credential.privateKey)),
        userHandle: credential.user,
      })
    },
  }
}

const base64url = (bytes) => Buffer.from(bytes).toString('base64url')
const sha256 = (bytes) => createHash('sha256').update(bytes).digest()
const clientData = (type, { challenge }, origin) => Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))

function authenticatorData({ rpId, count }, more = 0) {
  const counter = Buffer.alloc(4)
  counter.writeUInt32BE(count)
  return Buffer.concat([sha256(rpId), Buffer.from([present | verified | more]), counter])
}

function answer({ id }, response) {
  return {
    id: base64url(id), rawId: base64url(id), type: 'public-key', authenticatorAttachment: 'platform', clientExtensionResults: {}, response,
  }
}

/** Write whole numbers, texts, bytes and maps as CBOR. */
function cbor(value) {
  const head = (kind, size) => {
    if (size < 24) return Buffer.from([(kind << 5) | size])
    return size < 256 ? Buffer.from([(kind << 5) | 24, size]) : Buffer.from([(kind << 5) | 25, size >> 8, size & 255])
  }
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  return Buffer.concat([head(5, value.size), ...[...value].flat().map(cbor)])
}
