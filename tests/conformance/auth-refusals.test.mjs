// Errors as the client shows them: the class, the status, the code and the words.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AuthApiError, AuthWeakPasswordError, isAuthApiError } from '@supabase/supabase-js'
import { address, admin, bad, claimsOf, good, missing, password, refused, signed, signedUp, visitor, withKey } from './auth-people.mjs'

const { ANON_KEY } = process.env
const known = await signedUp()
const short = { name: 'AuthWeakPasswordError', status: 422, code: 'weak_password', message: 'Password should be at least 6 characters.', reasons: ['length'] }
const invalid = refused(400, 'invalid_credentials', 'Invalid login credentials')
const unreadable = refused(400, 'validation_failed', 'Unable to validate email address: invalid format')
const noUser = '00000000-0000-4000-8000-000000000000'
const up = (more) => visitor().auth.signUp({ email: address(), password, ...more })
const enter = (more) => visitor().auth.signInWithPassword({ email: known.email, password, ...more })
const user = (token) => visitor().auth.getUser(token)
const of = (claims) => signed({ ...claimsOf(known.session.access_token), ...claims })

const refusals = {
  'a weak password': [() => up({ password: 'abc' }), short],
  'an address that is registered': [() => up({ email: known.email }), refused(422, 'user_already_exists', 'User already registered')],
  'the same in other case': [() => up({ email: known.email.toUpperCase() }), refused(422, 'user_already_exists', 'User already registered')],
  'a text that is no address': [() => up({ email: 'nobody' }), unreadable],
  'no password': [() => up({ password: '' }), refused(400, 'validation_failed', 'Signup requires a valid password')],
  'a phone, while phones are off': [() => visitor().auth.signUp({ phone: '+15550100', password }),
    refused(400, 'phone_provider_disabled', 'Phone signups are disabled')],
  'data that is no object': [() => up({ options: { data: [1] } }), { ...refused(400, 'bad_json'), message: /^Could not parse request body as JSON: / }],
  'a wrong password': [() => enter({ password: 'under the river' }), invalid],
  'an unknown address': [() => enter({ email: address() }), invalid],
  'an empty password': [() => enter({ password: '' }), invalid],
  'a phone, to sign in': [() => visitor().auth.signInWithPassword({ phone: '+15550100', password }),
    refused(422, 'phone_provider_disabled', 'Phone logins are disabled')],
  'a refresh token that is none': [() => visitor().auth.refreshSession({ refresh_token: 'nothing at all' }),
    refused(400, 'validation_failed', 'Refresh token is not valid')],
  'nobody, for a user': [() => visitor().auth.getUser(), missing],
  'nobody, for an update': [() => visitor().auth.updateUser({ data: {} }), missing],
  'nobody, for a refresh': [() => visitor().auth.refreshSession(), missing],
  'nobody, for new tokens': [() => visitor().auth.setSession({ access_token: '', refresh_token: '' }), missing],
  'a public key for a user': [() => user(ANON_KEY), refused(403, 'bad_jwt', 'invalid claim: missing sub claim')],
  'no token at all': [() => user('nothing'), { ...refused(403, 'bad_jwt'), message: /^invalid JWT: unable to parse or verify signature, / }],
  'a token with a foreign signature': [() => user(signed(claimsOf(known.session.access_token), 'x'.repeat(32))),
    { ...refused(403, 'bad_jwt'), message: /^invalid JWT: unable to parse or verify signature, / }],
  'a token that has expired': [() => user(of({ exp: 1 })), { ...refused(403, 'bad_jwt'), message: /^invalid JWT: .*JWT expired, token is expired/ }],
  'a token of a user that is gone': [() => user(of({ sub: noUser })), refused(403, 'user_not_found', 'User from sub claim in JWT does not exist')],
  'a token of a session that is gone': [() => user(of({ session_id: noUser })), missing],
  'a token whose user is no UUID': [() => user(of({ sub: 'ada' })), refused(400, 'bad_jwt', 'invalid claim: sub claim must be a UUID')],
  'a token of another user\'s session': [() => admin.createUser({ email: address() }).then(({ data }) => user(of({ sub: data.user.id }))), missing],
  'the same password': [() => known.client.auth.updateUser({ password }),
    refused(422, 'same_password', 'New password should be different from the old password.')],
  'a new password that is weak': [() => known.client.auth.updateUser({ password: 'abc' }), short],
  'a new address that is none': [() => known.client.auth.updateUser({ email: 'nobody' }), unreadable],
  'an unknown key': [() => withKey('nobody').auth.signUp({ email: address(), password }), { name: 'AuthApiError', status: 401 }],
}

test('refusals', async (t) => {
  for (const [name, [call, expected]] of Object.entries(refusals)) {
    await t.test(name, async () => {
      const error = await bad(call())
      const { message } = expected
      if (message instanceof RegExp) assert.match(error.message, message)
      const told = Object.fromEntries(Object.keys(expected).map((key) => [key, error[key]]))
      assert.deepEqual(told, { ...expected, ...(message instanceof RegExp && { message: error.message }) })
    })
  }
})

test('errors are of the classes that applications look at', async () => {
  const { error: weak } = await visitor().auth.signUp({ email: address(), password: 'abc' })
  const { error: wrong } = await enter({ password: 'under the river' })

  assert.ok(weak instanceof AuthWeakPasswordError)
  assert.ok(wrong instanceof AuthApiError)
  assert.ok(isAuthApiError(wrong))
  assert.deepEqual([weak.reasons, wrong.__isAuthError], [['length'], true])
  const { auth } = withKey(ANON_KEY, { auth: { throwOnError: true, persistSession: false } })
  assert.equal(auth.isThrowOnErrorEnabled(), true)
  await assert.rejects(auth.signUp({ email: 'nobody', password }), { code: 'validation_failed' })
})

test('what the client itself refuses never reaches the service', async () => {
  assert.equal((await bad(visitor().auth.signUp({ password }))).name, 'AuthInvalidCredentialsError')
  assert.equal((await bad(visitor().auth.setSession({ access_token: 'x', refresh_token: 'y' }))).name, 'AuthInvalidJwtError')
  await assert.rejects(async () => admin.getUserById('ada'), /Expected parameter to be UUID/)
})

test('a password that would be too weak today still signs in, and the client hears of it', async () => {
  const email = address()
  assert.deepEqual(await bad(admin.createUser({ email, password: 'test', email_confirm: true })), short)
  // The word "test", hashed by bcrypt.
  const password_hash = '$2y$10$SXEz2HeT8PUIGQXo9yeUIem8KzNxgG0d7o/.eGj2rj8KbRgAuRVlq'
  await good(admin.createUser({ email, password_hash, email_confirm: true }))

  const { user, weakPassword } = await good(visitor().auth.signInWithPassword({ email, password: 'test' }))

  assert.equal(user.email, email)
  assert.deepEqual(weakPassword, { message: 'Password should be at least 6 characters.', reasons: ['length'] })
})

test('an address that was not confirmed does not sign in', async () => {
  const email = address()
  await good(admin.createUser({ email, password }))

  assert.deepEqual(await bad(enter({ email })), refused(400, 'email_not_confirmed', 'Email not confirmed'))
  assert.deepEqual(await bad(enter({ email, password: 'under the river' })), invalid)
})
