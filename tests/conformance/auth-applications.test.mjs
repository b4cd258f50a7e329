// Other applications sign in by our accounts (OAuth 2.1): clients in the hands of a server, and what a person allows.
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { admin, bad, claimsOf, good, member, missing, visitor } from './auth-people.mjs'
import { landing, site } from './auth-post.mjs'

const { API_URL } = process.env
const redirect = 'https://app.example/callback'
const base = `${API_URL}/auth/v1`
const createClient = (more) => good(admin.oauth.createClient({ client_name: 'An application', redirect_uris: [redirect], ...more }))
/** Ask for leave as an application does; give the id of the question, and the verifier that is kept. */
const ask = async ({ client_id }, scope = 'openid email profile') => {
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    client_id, redirect_uri: redirect, response_type: 'code', scope, state: 'a state', code_challenge_method: 'S256',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  })
  const answer = await fetch(`${base}/oauth/authorize?${query}`, { redirect: 'manual' })
  const { target, query: told } = landing(answer.headers.get('location'))
  assert.deepEqual([answer.status, target], [302, `${site}/oauth/consent`])
  return { id: told.authorization_id, verifier }
}
const tokens = async ({ client_id, client_secret }, form) => {
  const headers = { authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` }
  const answer = await fetch(`${base}/oauth/token`, { method: 'POST', headers, body: new URLSearchParams({ redirect_uri: redirect, ...form }) })
  return { status: answer.status, ...await answer.json() }
}
const allowed = async ({ client }, application, scope) => {
  const { id, verifier } = await ask(application, scope)
  await good(client.auth.oauth.getAuthorizationDetails(id))
  const { query } = landing((await good(client.auth.oauth.approveAuthorization(id))).redirect_url)
  return await tokens(application, { grant_type: 'authorization_code', code: query.code, code_verifier: verifier })
}

test('a server makes, reads, changes and removes a client', async () => {
  const { oauth } = admin
  const told = { client_uri: 'https://app.example', redirect_uris: [redirect], grant_types: ['authorization_code', 'refresh_token'] }

  const { client_secret: secret, ...made } = await createClient(told)

  assert.deepEqual([made.client_name, made.client_uri, made.redirect_uris, made.client_type, made.registration_type],
    ['An application', told.client_uri, [redirect], 'confidential', 'manual'])
  assert.ok(secret.length > 20)
  assert.deepEqual(await good(oauth.getClient(made.client_id)), made)
  const changed = await good(oauth.updateClient(made.client_id, { client_name: 'Another', redirect_uris: [`${redirect}/2`] }))
  assert.deepEqual([changed.client_name, changed.redirect_uris], ['Another', [`${redirect}/2`]])
  const { client_secret: fresh } = await good(oauth.regenerateClientSecret(made.client_id))
  assert.ok(fresh && fresh !== secret)
  assert.equal(await good(oauth.deleteClient(made.client_id)), null)
  assert.equal((await bad(oauth.getClient(made.client_id))).code, 'oauth_client_not_found')
})

test('clients are listed in pages', async () => {
  for (let count = 0; count < 3; count += 1) await createClient()

  const all = await good(admin.oauth.listClients())
  const first = await good(admin.oauth.listClients({ page: 1, perPage: 2 }))

  assert.ok(all.total >= 3 && all.clients.length === all.total)
  assert.deepEqual([first.clients.length, first.nextPage, first.total], [2, 2, all.total])
  assert.equal((await bad(visitor().auth.admin.oauth.listClients())).code, 'not_admin')
})

test('a person allows an application, which then reads who it is', async () => {
  const [one, application] = [await member(), await createClient()]
  const { id, verifier } = await ask(application)

  const details = await good(one.client.auth.oauth.getAuthorizationDetails(id))
  const { redirect_url: url } = await good(one.client.auth.oauth.approveAuthorization(id))

  assert.deepEqual([details.authorization_id, details.client.name, details.user.email, details.scope],
    [id, 'An application', one.email, 'openid email profile'])
  const { target, query } = landing(url)
  assert.deepEqual([target, query.state], [redirect, 'a state'])
  const got = await tokens(application, { grant_type: 'authorization_code', code: query.code, code_verifier: verifier })
  assert.deepEqual([got.status, got.token_type, got.expires_in], [200, 'bearer', 3600])
  const [access, identity] = [claimsOf(got.access_token), claimsOf(got.id_token)]
  assert.deepEqual([access.sub, access.client_id, identity.aud, identity.email], [one.user.id, application.client_id, application.client_id, one.email])
  const told = await (await fetch(`${base}/oauth/userinfo`, { headers: { authorization: `Bearer ${got.access_token}` } })).json()
  assert.deepEqual([told.sub, told.email], [one.user.id, one.email])
  const next = await tokens(application, { grant_type: 'refresh_token', refresh_token: got.refresh_token })
  assert.deepEqual([next.status, claimsOf(next.access_token).client_id], [200, application.client_id])
})

test('what was allowed once is not asked again, and is taken back', async () => {
  const [one, application] = [await member(), await createClient()]
  const { oauth } = one.client.auth
  const { access_token: token } = await allowed(one, application)

  const again = await good(oauth.getAuthorizationDetails((await ask(application)).id))
  const [grant] = await good(oauth.listGrants())

  assert.equal(landing(again.redirect_url).target, redirect)
  assert.deepEqual([grant.client.id, [...grant.scopes].sort()], [application.client_id, ['email', 'openid', 'profile']])
  assert.deepEqual(await good(oauth.revokeGrant({ clientId: application.client_id })), {})
  assert.deepEqual(await good(oauth.listGrants()), [])
  assert.deepEqual(await bad(visitor().auth.getUser(token)), missing)
  assert.equal((await bad(oauth.revokeGrant({ clientId: application.client_id }))).code, 'oauth_consent_not_found')
})

test('a person says no', async () => {
  const [{ client }, application] = [await member(), await createClient()]
  const { id } = await ask(application)
  await good(client.auth.oauth.getAuthorizationDetails(id))

  const { query } = landing((await good(client.auth.oauth.denyAuthorization(id))).redirect_url)

  assert.deepEqual([query.error, query.state, query.code], ['access_denied', 'a state', undefined])
  assert.equal((await bad(client.auth.oauth.getAuthorizationDetails(randomUUID().replaceAll('-', '')))).code, 'oauth_authorization_not_found')
  assert.deepEqual(await bad(visitor().auth.oauth.listGrants()), missing)
})

test('a question that somebody looked at is nobody else\'s', async () => {
  const [one, two, application] = [await member(), await member(), await createClient()]
  const { id } = await ask(application)
  await good(one.client.auth.oauth.getAuthorizationDetails(id))

  assert.equal((await bad(two.client.auth.oauth.getAuthorizationDetails(id))).code, 'oauth_authorization_not_found')
  assert.equal((await bad(two.client.auth.oauth.approveAuthorization(id))).code, 'oauth_authorization_not_found')
})
