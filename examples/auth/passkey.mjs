// Sign in without a name and without a password. `authenticator.mjs` stands in for the browser and its authenticator;
// in a browser, `auth.registerPasskey()` and `auth.signInWithPasskey()` do all of this in one call each.
// The platform: HEADWATER_AUTH_PASSKEY_ENABLED=true HEADWATER_AUTH_WEBAUTHN_RP_ID=localhost
// HEADWATER_AUTH_WEBAUTHN_RP_ORIGINS=http://localhost:3000
import { newAuthenticator } from './authenticator.mjs'
import { admin, check, done, newAddress, refused, visitor } from './platform.mjs'

const authenticator = newAuthenticator(process.env.ORIGIN ?? 'http://localhost:3000')
const [email, password] = [newAddress('hedy'), 'over the river']
const { user } = await done(admin.createUser({ email, password, email_confirm: true }))

const auth = visitor()
await done(auth.signInWithPassword({ email, password }))
const making = await done(auth.passkey.startRegistration())
const passkey = await done(auth.passkey.verifyRegistration({
  challengeId: making.challenge_id, credential: authenticator.create(making.options),
}))
await done(auth.passkey.update({ passkeyId: passkey.id, friendlyName: 'my laptop' }))
console.log('passkeys of', email, 'now:', (await done(auth.passkey.list())).map((each) => each.friendly_name))

const later = visitor()
const asking = await done(later.passkey.startAuthentication())
const answer = { challengeId: asking.challenge_id, credential: authenticator.get(asking.options) }
const { session } = await done(later.passkey.verifyAuthentication(answer))
check(session.user.id === user.id, 'somebody else signed in')
console.log('signed in with the passkey as', session.user.email)
console.log('the same answer once more:', (await refused(visitor().passkey.verifyAuthentication(answer))).code)

await done(auth.passkey.delete({ passkeyId: passkey.id }))
check((await done(auth.passkey.list())).length === 0, 'the passkey is still there')
console.log('the passkey is gone')
