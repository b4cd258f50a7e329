// A second factor: enroll an authenticator app, prove it, and sign in again with both.
import { createHmac } from 'node:crypto'
import { admin, check, done, newAddress, refused, visitor } from './platform.mjs'

const [email, password] = [newAddress('edith'), 'over the river']
await done(admin.createUser({ email, password, email_confirm: true }))
const auth = visitor()
await done(auth.signInWithPassword({ email, password }))

const { id: factorId, totp } = await done(auth.mfa.enroll({ factorType: 'totp', friendlyName: 'my app' }))
console.log('an app would read this from the picture:', totp.uri)
await done(auth.mfa.challengeAndVerify({ factorId, code: codeOf(totp.secret) }))
console.log('proven, the session is now', await level(auth))

const later = visitor()
await done(later.signInWithPassword({ email, password }))
console.log('signed in again, the session is', await level(later))
console.log('changing the password now:', (await refused(later.updateUser({ password: 'beyond the hills' }))).code)
// The code of this half minute was used: a real app would show the next one in a moment.
await done(later.mfa.challengeAndVerify({ factorId, code: codeOf(totp.secret, 1) }))
check(await level(later) === 'aal2', 'the code did not raise the session')
await done(later.updateUser({ password: 'beyond the hills' }))
console.log('with the code it works')

await done(later.mfa.unenroll({ factorId }))
await done(later.refreshSession())
console.log('without the app again, the session is', await level(later))

async function level(client) {
  return (await done(client.mfa.getAuthenticatorAssuranceLevel())).currentLevel
}

/** Give the six digits of a secret, now or some half minutes later (RFC 6238). */
function codeOf(secret, later = 0) {
  const bits = [...secret].map((sign) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(sign).toString(2).padStart(5, '0')).join('')
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later))
  const hash = createHmac('sha1', Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)))).update(counter).digest()
  return String((hash.readUInt32BE(hash.at(-1) & 15) & 0x7fffffff) % 1e6).padStart(6, '0')
}
