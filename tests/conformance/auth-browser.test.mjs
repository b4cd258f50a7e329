// What the client does in a browser only: it reads its session out of the address bar, leaves for providers, tells its
// other tabs, and asks the authenticator. All in a process of its own, for the browser is a global thing.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { left, open, shown } from './auth-browser.mjs'
import { address, admin, bad, claimsOf, good, member, password, refused, visitor, withKey } from './auth-people.mjs'
import { land, letterTo, site } from './auth-post.mjs'

const { ANON_KEY } = process.env
const tabs = []
after(async () => { for (const tab of tabs) await tab.auth.dispose() })
/** Open a tab; those with the same name are tabs of one application, and share what it keeps. */
const kept = new Map()
const tab = (name = address('tab'), options) => {
  const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) }
  const client = withKey(ANON_KEY, { auth: { storage, storageKey: name, persistSession: true, autoRefreshToken: false, ...options } })
  tabs.push(client)
  return client
}
/** Wait for a word that a client says. */
const heard = (client, word) => new Promise((resolve) => {
  client.auth.onAuthStateChange((event, session) => { if (event === word) resolve(session) })
})
const passkeyed = async () => {
  const one = await member()
  return { ...one, passkey: await good(one.client.auth.registerPasskey()) }
}

test('the session in the fragment of the address is taken, and taken out of it', async () => {
  const { email, user } = await member()
  await good(visitor().auth.signInWithOtp({ email, options: { emailRedirectTo: `${site}/in` } }))
  open((await land((await letterTo(email)).link)).url)

  const client = tab()

  assert.equal((await heard(client, 'SIGNED_IN')).user.id, user.id)
  assert.equal(shown().replace(/#$/, ''), `${site}/in`)
  assert.equal((await good(client.auth.getUser())).user.email, email)
})

test('the session of a forgotten password tells what it is for', async () => {
  const { email, user } = await member()
  await good(visitor().auth.resetPasswordForEmail(email))
  open((await land((await letterTo(email)).link)).url)

  assert.equal((await heard(tab(), 'PASSWORD_RECOVERY')).user.id, user.id)
})

test('the code in the address is exchanged, and taken out of it', async () => {
  const [name, email] = [address('tab'), address('abroad')]
  open(site)
  const { url } = await good(tab(name, { flowType: 'pkce' }).auth.signInWithOAuth({
    provider: 'keycloak', options: { redirectTo: `${site}/in?tab=1`, queryParams: { login_hint: email } },
  }))
  assert.equal(left.at(-1), url)
  open((await land(url)).url)

  const client = tab(name, { flowType: 'pkce' })

  assert.equal((await heard(client, 'SIGNED_IN')).user.email, email)
  assert.equal(shown(), `${site}/in?tab=1`)
  open(site)
})

test('an error in the address is given to the application', async () => {
  const { email } = await member()
  await good(visitor().auth.signInWithOtp({ email }))
  const { link } = await letterTo(email)
  await land(link)
  open((await land(link)).url)

  const { error } = await tab().auth.initialize()

  assert.deepEqual([error.name, error.message, error.details.code],
    ['AuthImplicitGrantRedirectError', 'Email link is invalid or has expired', 'otp_expired'])
  open(site)
})

test('tabs of one application tell one another', async () => {
  const name = address('tab')
  const [one, two] = [tab(name), tab(name)]
  const { email, user } = await member()
  const entered = heard(two, 'SIGNED_IN')

  await good(one.auth.signInWithPassword({ email, password }))

  assert.equal((await entered).user.id, user.id)
  const gone = heard(two, 'SIGNED_OUT')
  assert.equal((await one.auth.signOut()).error, null)
  assert.equal(await gone, null)
})

test('linking leaves for the provider', async () => {
  const { client } = await member()

  const { url } = await good(client.auth.linkIdentity({ provider: 'keycloak' }))

  assert.equal(left.at(-1), url)
})

test('a passkey is made, and signs in without a name', async () => {
  const { user, passkey } = await passkeyed()
  const client = tab()
  const entered = heard(client, 'SIGNED_IN')

  const { session } = await good(client.auth.signInWithPasskey())

  assert.ok(passkey.id && passkey.friendly_name && passkey.created_at)
  assert.deepEqual([session.user.id, (await entered).user.id], [user.id, user.id])
  const { aal, amr } = claimsOf(session.access_token)
  assert.deepEqual([aal, amr.map((each) => each.method)], ['aal1', ['passkey']])
})

test('passkeys in single steps', async () => {
  const { client, user } = await member()
  const { passkey } = client.auth

  const begun = await good(passkey.startRegistration())
  const made = await good(passkey.verifyRegistration({
    challengeId: begun.challenge_id, credential: (await navigator.credentials.create({ publicKey: begun.options })).toJSON(),
  }))
  const asked = await good(visitor().auth.passkey.startAuthentication())
  const credential = (await navigator.credentials.get({ publicKey: asked.options })).toJSON()
  const { session } = await good(visitor().auth.passkey.verifyAuthentication({ challengeId: asked.challenge_id, credential }))

  assert.equal(begun.options.rp.id, 'localhost')
  assert.equal(session.user.id, user.id)
  assert.equal((await bad(visitor().auth.passkey.verifyAuthentication({ challengeId: asked.challenge_id, credential }))).code,
    'webauthn_challenge_not_found')
  assert.deepEqual((await good(passkey.list())).map((each) => each.id), [made.id])
  assert.equal((await good(passkey.update({ passkeyId: made.id, friendlyName: 'desk' }))).friendly_name, 'desk')
  assert.deepEqual((await good(admin.passkey.listPasskeys({ userId: user.id }))).map((each) => each.friendly_name), ['desk'])
  assert.equal(await good(passkey.delete({ passkeyId: made.id })), null)
  assert.deepEqual(await good(passkey.list()), [])
})

test('a server takes a passkey away', async () => {
  const { user, passkey } = await passkeyed()

  assert.equal(await good(admin.passkey.deletePasskey({ userId: user.id, passkeyId: passkey.id })), null)

  assert.deepEqual(await good(admin.passkey.listPasskeys({ userId: user.id })), [])
  assert.equal((await bad(visitor().auth.signInWithPasskey())).status, 400)
  assert.deepEqual(await bad(visitor().auth.admin.passkey.listPasskeys({ userId: user.id })), refused(403, 'not_admin', 'User not allowed'))
})

test('a security key is a second factor', async () => {
  const { client, email } = await member()
  const { webauthn } = client.auth.mfa

  await good(webauthn.register({ friendlyName: 'key' }))

  const [factor] = (await good(client.auth.mfa.listFactors())).webauthn
  assert.equal(factor.friendly_name, 'key')
  const later = tab()
  await good(later.auth.signInWithPassword({ email, password }))
  await good(later.auth.mfa.webauthn.authenticate({ factorId: factor.id }))
  const { currentLevel, currentAuthenticationMethods } = await good(later.auth.mfa.getAuthenticatorAssuranceLevel())
  assert.deepEqual([currentLevel, currentAuthenticationMethods[0].method], ['aal2', 'mfa/webauthn'])
})

test('a security key in single steps', async () => {
  const { client } = await member()
  const { mfa } = client.auth
  const party = { rpId: 'localhost', rpOrigins: [site] }

  const { id: factorId, type } = await good(mfa.webauthn.enroll({ friendlyName: 'key' }))
  const made = await good(mfa.webauthn.challenge({ factorId, webauthn: party }))
  const { user } = await good(mfa.webauthn.verify({ factorId, challengeId: made.challengeId, webauthn: { ...party, ...made.webauthn } }))

  assert.deepEqual([type, made.webauthn.type, user.factors[0].status], ['webauthn', 'create', 'verified'])
  assert.equal((await bad(mfa.webauthn.verify({ factorId, challengeId: made.challengeId, webauthn: { ...party, ...made.webauthn } }))).status, 422)
})
