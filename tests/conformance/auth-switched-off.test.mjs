// What a platform with the default settings does not offer: the client gives an error that names it, and keeps its session.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { admin, bad, good, password, refused, signedUp, visitor, withKey } from './auth-people.mjs'
import { ethereumWallet } from './auth-wallets.mjs'

const { ANON_KEY } = process.env
const { client, email } = await signedUp()
const { auth } = client
const nobody = visitor().auth
const phone = '+15550100'
const id = randomUUID()
const { auth: paper } = withKey(ANON_KEY, { auth: { experimental: { recoveryCodes: true }, persistSession: false, autoRefreshToken: false } })
await good(paper.setSession((await good(auth.getSession())).session))
const passkeysOff = refused(404, 'passkey_disabled')
const oauthOff = refused(404, 'feature_disabled')
const linkingOff = refused(404, 'manual_linking_disabled', 'Manual linking is disabled')
const samlOff = refused(404, 'saml_provider_disabled', 'SAML 2.0 is disabled')

const off = {
  'signInWithSSO by domain': [() => nobody.signInWithSSO({ domain: 'example.com' }), samlOff],
  'signInWithSSO by provider': [() => nobody.signInWithSSO({ providerId: id }), samlOff],
  'signInWithIdToken': [() => nobody.signInWithIdToken({ provider: 'google', token: 'x' }), { status: 400, message: /not enabled/ }],
  'signInWithWeb3': [() => nobody.signInWithWeb3({ chain: 'ethereum', wallet: ethereumWallet(), options: { url: 'http://localhost:3000/' } }),
    refused(422, 'web3_provider_disabled', 'Web3 provider is disabled')],
  'signUp by phone': [() => nobody.signUp({ phone, password }), refused(400, 'phone_provider_disabled', 'Phone signups are disabled')],
  'signInWithOtp by phone': [() => nobody.signInWithOtp({ phone }), refused(400, 'phone_provider_disabled', 'Unsupported phone provider')],
  'linkIdentity': [() => auth.linkIdentity({ provider: 'github' }), linkingOff],
  'linkIdentity by token': [() => auth.linkIdentity({ provider: 'google', token: 'x' }), { status: 400, code: 'provider_disabled' }],
  'unlinkIdentity': [() => auth.unlinkIdentity({ identity_id: id }), linkingOff],
  'mfa.enroll, a telephone': [() => auth.mfa.enroll({ factorType: 'phone', phone }), { status: 422, code: 'mfa_phone_enroll_not_enabled' }],
  'mfa.enroll, a security key': [() => auth.mfa.enroll({ factorType: 'webauthn', friendlyName: 'key' }),
    { status: 422, code: 'mfa_webauthn_enroll_not_enabled' }],
  'mfa.recoveryCodes.generate': [() => paper.mfa.recoveryCodes.generate(), { status: 422, code: 'mfa_recovery_codes_enroll_not_enabled' }],
  'passkey.startRegistration': [() => auth.passkey.startRegistration(), passkeysOff],
  'passkey.startAuthentication': [() => nobody.passkey.startAuthentication(), passkeysOff],
  'passkey.list': [() => auth.passkey.list(), passkeysOff],
  'oauth.getAuthorizationDetails': [() => auth.oauth.getAuthorizationDetails(id), oauthOff],
  'oauth.listGrants': [() => auth.oauth.listGrants(), oauthOff],
  'admin.oauth.listClients': [() => admin.oauth.listClients(), oauthOff],
}

test('a method whose feature is switched off gives an error that says so', async (t) => {
  for (const [name, [call, { message, ...expected }]] of Object.entries(off)) {
    await t.test(name, async () => {
      const error = await bad(call())
      assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, error[key]])), expected)
      if (message) message instanceof RegExp ? assert.match(error.message, message) : assert.equal(error.message, message)
    })
  }
})

test('a provider that is switched off is told in the browser', async () => {
  const { url } = await good(nobody.signInWithOAuth({ provider: 'github' }))

  const answer = await fetch(url, { redirect: 'manual' })

  assert.equal(answer.status, 400)
  assert.match((await answer.json()).msg, /^Unsupported provider: /)
})

test('the session lives on after such errors', async () => {
  assert.equal((await good(auth.getUser())).user.email, email)
})
