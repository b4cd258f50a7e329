// Keys that others may read: tokens are verified by the client itself. And sessions that live on: refreshes at once, and in time.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { bad, claimsOf, forgetful, good, listen, member, password, signed, visitor, withKey } from './auth-people.mjs'

const { ANON_KEY, API_URL } = process.env
/** A client that notes where it asks; clients of one storage key would share the keys they were given. */
const watched = () => {
  const asked = []
  const noting = (url, init) => {
    asked.push(new URL(url).pathname.replace('/auth/v1', ''))
    return fetch(url, init)
  }
  const auth = { storageKey: randomUUID(), persistSession: false, autoRefreshToken: false }
  return { asked, client: withKey(ANON_KEY, { auth, global: { fetch: noting } }) }
}
const settled = async (condition) => {
  const until = Date.now() + 10_000
  while (!condition()) {
    assert.ok(Date.now() < until, 'it did not come')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

test('the client verifies a token by the public key, and asks for the key once', async () => {
  const { session, user } = await member()
  const { client, asked } = watched()

  const first = await good(client.auth.getClaims(session.access_token))
  await good(client.auth.getClaims(session.access_token))

  assert.deepEqual(first.header, { alg: 'ES256', kid: 'in use', typ: 'JWT' })
  assert.deepEqual([first.claims.sub, first.claims.iss], [user.id, `${API_URL}/auth/v1`])
  assert.deepEqual(asked, ['/.well-known/jwks.json'])
})

test('the client sees for itself that a token was changed, or has expired', async () => {
  const { session } = await member()
  const { client, asked } = watched()
  const [head, , signature] = session.access_token.split('.')
  const forged = (claims) => [head, Buffer.from(JSON.stringify({ ...claimsOf(session.access_token), ...claims })).toString('base64url'), signature].join('.')

  const [changed, expired] = [await bad(client.auth.getClaims(forged({ role: 'service_role' }))), await bad(client.auth.getClaims(forged({ exp: 1 })))]

  assert.deepEqual([changed.name, changed.message], ['AuthInvalidJwtError', 'Invalid JWT signature'])
  assert.deepEqual([expired.name, expired.message], ['AuthInvalidJwtError', 'JWT has expired'])
  assert.deepEqual(asked, ['/.well-known/jwks.json'])
})

test('a key that the application brings saves the question', async () => {
  const { session, user } = await member()
  const jwks = await (await fetch(`${API_URL}/auth/v1/.well-known/jwks.json`)).json()
  const { client, asked } = watched()

  const { claims } = await good(client.auth.getClaims(session.access_token, { jwks }))

  assert.deepEqual([claims.sub, asked], [user.id, []])
  assert.deepEqual(jwks.keys.map(({ kid, alg, kty, d, k }) => [kid, alg, kty, d, k]), [['in use', 'ES256', 'EC', undefined, undefined]])
})

test('a token of the old key is verified by the service', async () => {
  const { session, user } = await member()
  const { client, asked } = watched()

  const { claims, header } = await good(client.auth.getClaims(signed(claimsOf(session.access_token))))

  assert.deepEqual([claims.sub, header.alg, asked], [user.id, 'HS256', ['/user']])
})

test('both interfaces take the new kind of token', async () => {
  const { client, user } = await member()

  const { data, error } = await client.rpc('whoami')

  assert.equal(error, null)
  assert.deepEqual([data.uid, data.role], [user.id, 'authenticated'])
})

test('fifty tabs refresh at once with one token: one session, one next token, nobody out', async () => {
  const { session } = await member()
  const tabs = Array.from({ length: 50 }, visitor)

  const answers = await Promise.all(tabs.map((tab) => good(tab.auth.refreshSession(session))))

  assert.equal(new Set(answers.map((each) => each.session.refresh_token)).size, 1)
  assert.deepEqual([...new Set(answers.map((each) => claimsOf(each.session.access_token).session_id))], [claimsOf(session.access_token).session_id])
  await Promise.all(tabs.map((tab) => good(tab.auth.getUser())))
  await good(tabs.at(-1).auth.refreshSession())
})

test('a client that starts with an expired session refreshes it, many times over at once', async () => {
  const { session } = await member()
  const { client, growOld } = forgetful()
  await good(client.auth.setSession(session))
  const events = await listen(client)
  growOld()

  const answers = await Promise.all(Array.from({ length: 10 }, () => good(client.auth.getUser())))

  assert.equal(new Set(answers.map(({ user }) => user.id)).size, 1)
  assert.deepEqual(events.map(([event]) => event), ['INITIAL_SESSION', 'TOKEN_REFRESHED'])
})

test('a client that refreshes by itself does so before the token expires', async () => {
  const { email } = await member()
  const { client, growOld } = forgetful({ autoRefreshToken: true })
  const { session } = await good(client.auth.signInWithPassword({ email, password }))
  const events = await listen(client)
  growOld()

  await client.auth.startAutoRefresh()

  await settled(() => events.some(([event]) => event === 'TOKEN_REFRESHED'))
  await client.auth.stopAutoRefresh()
  const { session: next } = await good(client.auth.getSession())
  assert.notEqual(next.refresh_token, session.refresh_token)
  assert.equal(claimsOf(next.access_token).session_id, claimsOf(session.access_token).session_id)
  await client.auth.dispose()
})
