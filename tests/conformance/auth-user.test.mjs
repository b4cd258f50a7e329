// What people change of their own accounts, and visitors who have no address yet.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AuthSessionMissingError } from '@supabase/supabase-js'
import { address, bad, claimsOf, good, missing, password, refused, signedIn, signedUp, visitor } from './auth-people.mjs'

const other = 'beyond the hills'
const stranger = async (data) => {
  const client = visitor()
  return { client, ...await good(client.auth.signInAnonymously({ options: { data } })) }
}

test('data is merged: what is given replaces, null deletes, the rest stays', async () => {
  const { client, user } = await signedUp({ name: 'Ada', age: 36, mood: { now: 'glad' } })

  const { user: changed } = await good(client.auth.updateUser({ data: { age: 37, mood: null, city: 'London' } }))

  const { mood, ...rest } = user.user_metadata
  assert.deepEqual(changed.user_metadata, { ...rest, age: 37, city: 'London' })
  assert.deepEqual(changed.app_metadata, user.app_metadata)
  assert.ok(Date.parse(changed.updated_at) >= Date.parse(user.updated_at))
  assert.deepEqual((await good(client.auth.getUser())).user, changed)
  assert.deepEqual((await good(client.auth.getSession())).session.user, changed)
  const { session } = await good(client.auth.refreshSession())
  assert.deepEqual(claimsOf(session.access_token).user_metadata, changed.user_metadata)
})

test('a new password ends the other sessions, and only they', async () => {
  const one = await signedUp()
  const two = await signedIn(one.email)

  await good(one.client.auth.updateUser({ password: other }))

  assert.equal((await good(one.client.auth.getUser())).user.id, one.user.id)
  assert.deepEqual(await bad(two.client.auth.getUser()), missing)
  assert.ok((await two.client.auth.getUser()).error instanceof AuthSessionMissingError)
  assert.deepEqual(await bad(visitor().auth.signInWithPassword({ email: one.email, password })),
    refused(400, 'invalid_credentials', 'Invalid login credentials'))
  await signedIn(one.email, other)
})

test('people do not change what is for servers', async () => {
  const { client, user } = await signedUp()

  assert.deepEqual(await bad(client.auth.updateUser({ app_metadata: { team: 'red' } })), refused(403, 'not_admin', 'User not allowed'))

  const { user: changed } = await good(client.auth.updateUser({ data: {}, role: 'service_role', banned_until: null, id: address() }))
  assert.deepEqual([changed.id, changed.role, changed.app_metadata], [user.id, 'authenticated', user.app_metadata])
})

test('the ways in of a user', async () => {
  const { client, user } = await signedUp()

  assert.deepEqual((await good(client.auth.getUserIdentities())).identities, user.identities)
  assert.deepEqual(await good(client.auth.mfa.listFactors()), { all: [], phone: [], totp: [], webauthn: [], recovery_code: [] })
})

test('a visitor without an address is a user', async () => {
  const { client, user, session } = await stranger({ found: 'by chance' })

  assert.deepEqual([user.is_anonymous, user.role, user.email, user.phone], [true, 'authenticated', '', ''])
  assert.deepEqual([user.user_metadata, user.app_metadata, user.identities], [{ found: 'by chance' }, {}, []])
  const { is_anonymous, amr, email } = claimsOf(session.access_token)
  assert.deepEqual([is_anonymous, amr.map((each) => each.method), email], [true, ['anonymous'], ''])
  assert.deepEqual((await good(client.auth.getUser())).user, user)
  assert.equal((await good(client.auth.refreshSession())).user.is_anonymous, true)
})

test('a visitor becomes permanent with an address, and keeps the session', async () => {
  const { client, user, session } = await stranger({ found: 'by chance' })
  const email = address()

  const { user: permanent } = await good(client.auth.updateUser({ email, password: other, data: { name: 'Ada' } }))

  assert.deepEqual([permanent.id, permanent.email, permanent.is_anonymous], [user.id, email, false])
  assert.deepEqual(permanent.app_metadata, { provider: 'email', providers: ['email'] })
  assert.deepEqual(permanent.identities.map((each) => [each.provider, each.email, each.identity_data.email_verified]), [['email', email, true]])
  const { found, name } = permanent.user_metadata
  assert.deepEqual([found, name], ['by chance', 'Ada'])
  const { session: next } = await good(client.auth.refreshSession())
  const claims = claimsOf(next.access_token)
  assert.deepEqual([claims.is_anonymous, claims.email], [false, email])
  assert.equal(claims.session_id, claimsOf(session.access_token).session_id)
  assert.equal((await signedIn(email, other)).user.id, user.id)
})

test('the address of a visitor who became permanent counts as verified', async () => {
  const { client } = await stranger()

  const { user } = await good(client.auth.updateUser({ email: address(), password: other }))

  assert.equal(user.user_metadata.email_verified, true)
})

test('a visitor gets neither a password without an address, nor an address of somebody else', async () => {
  const { email } = await signedUp()
  const { client } = await stranger()

  assert.deepEqual(await bad(client.auth.updateUser({ password: other })),
    refused(422, 'validation_failed', 'Updating password of an anonymous user without an email or phone is not allowed'))
  assert.deepEqual(await bad(client.auth.updateUser({ email })),
    refused(422, 'email_exists', 'A user with this email address has already been registered'))
  assert.equal((await good(client.auth.getUser())).user.is_anonymous, true)
})
