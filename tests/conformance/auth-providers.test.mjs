// Sign-in by a provider: an OpenID realm on this machine, with real redirects, codes and signatures.
// Environment: PROVIDER_URL, the realm. Who is signed in there is told by `login_hint`, an address.
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { address, admin, bad, claimsOf, forgetful, good, listen, member, missing, password, refused, visitor } from './auth-people.mjs'
import { land, letterTo, site } from './auth-post.mjs'

const { API_URL, PROVIDER_URL } = process.env
const provider = 'keycloak'
const hint = (email) => ({ provider, options: { redirectTo: `${site}/in`, queryParams: { login_hint: email }, skipBrowserRedirect: true } })
const signIn = async (email = address('abroad')) => {
  const { client } = forgetful({ flowType: 'pkce' })
  const { query } = await land((await good(client.auth.signInWithOAuth(hint(email)))).url)
  return { client, email, ...await good(client.auth.exchangeCodeForSession(query.code)) }
}
/** What an application on a telephone gets of the provider by itself: its own codes, its own nonce. */
const tokensOf = async (email, nonce) => {
  const base = `${PROVIDER_URL}/protocol/openid-connect`
  const redirect_uri = 'http://localhost/native'
  const query = new URLSearchParams({ client_id: 'headwater', response_type: 'code', redirect_uri, login_hint: email, ...nonce && { nonce } })
  const { query: { code } } = await land(`${base}/auth?${query}`)
  const body = new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri, client_id: 'headwater', client_secret: 'provider\'s secret' })
  return await (await fetch(`${base}/token`, { method: 'POST', body })).json()
}
const ways = (user) => user.identities.map((each) => each.provider).sort()

test('the address to go to', async () => {
  const options = { redirectTo: `${site}/in`, scopes: 'offline_access groups', queryParams: { prompt: 'consent' } }

  const { url, provider: name } = await good(visitor().auth.signInWithOAuth({ provider, options: { ...options, skipBrowserRedirect: true } }))

  assert.equal(name, provider)
  const answer = await fetch(url, { redirect: 'manual' })
  const target = new URL(answer.headers.get('location'))
  const { state, code_challenge, ...asked } = Object.fromEntries(target.searchParams)
  assert.equal(answer.status, 302)
  assert.equal(target.href.split('?')[0], `${PROVIDER_URL}/protocol/openid-connect/auth`)
  assert.deepEqual([asked.client_id, asked.response_type, asked.redirect_uri, asked.prompt],
    ['headwater', 'code', `${API_URL}/auth/v1/callback`, 'consent'])
  assert.ok(state.length >= 36 && code_challenge)
  assert.ok(['profile', 'email', 'offline_access', 'groups'].every((scope) => asked.scope.split(' ').includes(scope)), asked.scope)
})

test('a person of the provider gets an account, and the session in the fragment', async () => {
  const email = address('abroad')
  const { url } = await good(visitor().auth.signInWithOAuth(hint(email)))

  const { target, fragment } = await land(url)

  assert.deepEqual([target, fragment.token_type], [`${site}/in`, 'bearer'])
  assert.ok(fragment.provider_token.startsWith('access-') && fragment.provider_refresh_token.startsWith('refresh-'))
  const client = visitor()
  const { user } = await good(client.auth.setSession(fragment))
  assert.deepEqual([user.email, user.app_metadata], [email, { provider, providers: [provider] }])
  assert.ok(user.email_confirmed_at)
  assert.deepEqual([user.user_metadata.full_name, user.user_metadata.iss], [email.split('@')[0], PROVIDER_URL])
  assert.deepEqual(claimsOf(fragment.access_token).amr.map((each) => each.method), ['oauth'])
})

test('a client that asks for codes gets the tokens of the provider with its session', async () => {
  const { client, user, session, email } = await signIn()

  assert.ok(session.provider_token.startsWith('access-') && session.provider_refresh_token)
  assert.equal((await good(client.auth.getUser())).user.id, user.id)
  const again = await signIn(email)
  assert.equal(again.user.id, user.id)
})

test('the provider of an address that an account has confirmed leads to that account', async () => {
  const { email, user } = await member()

  const abroad = await signIn(email)

  assert.equal(abroad.user.id, user.id)
  assert.deepEqual(ways(abroad.user), ['email', provider])
})

test('a way in that is unknown or switched off', async () => {
  for (const name of ['github', 'nobody']) {
    const { url } = await good(visitor().auth.signInWithOAuth({ provider: name }))
    const answer = await fetch(url, { redirect: 'manual', headers: { 'x-supabase-api-version': '2024-01-01' } })
    const { code, message } = await answer.json()
    assert.deepEqual([answer.status, code], [400, 'validation_failed'])
    assert.match(message, /^Unsupported provider: /)
  }
})

test('a person who asked for it links an account of the provider, and lets it go', async () => {
  const { client, user } = await member()
  const abroad = address('abroad')
  const { url, provider: name } = await good(client.auth.linkIdentity(hint(abroad)))
  assert.equal(name, provider)

  const { target, fragment } = await land(url)

  assert.deepEqual([target, fragment.token_type], [`${site}/in`, 'bearer'])
  const { identities } = await good(client.auth.getUserIdentities())
  assert.deepEqual(identities.map((each) => each.provider).sort(), ['email', provider])
  assert.equal((await signIn(abroad)).user.id, user.id)
  const linked = identities.find((each) => each.provider === provider)
  assert.deepEqual([linked.identity_data.email, linked.user_id], [abroad, user.id])
  await good(client.auth.unlinkIdentity(linked))
  const { user: left } = await good(client.auth.getUser())
  assert.deepEqual([ways(left), left.app_metadata.providers], [['email'], ['email']])
})

test('linking, for a client that asks for codes', async () => {
  const { email } = await member()
  const { client } = forgetful({ flowType: 'pkce' })
  await good(client.auth.signInWithPassword({ email, password }))
  const { url } = await good(client.auth.linkIdentity(hint(address('abroad'))))

  const { session } = await good(client.auth.exchangeCodeForSession((await land(url)).query.code))

  assert.deepEqual(ways(session.user), ['email', provider])
})

test('what cannot be linked, or let go', async () => {
  const [{ client }, taken] = [await member(), await signIn()]
  const { url } = await good(client.auth.linkIdentity(hint(taken.email)))
  const [only] = (await good(client.auth.getUserIdentities())).identities

  const { fragment, query } = await land(url)

  assert.deepEqual([fragment.error_code, query.error_code], ['identity_already_exists', 'identity_already_exists'])
  assert.deepEqual(await bad(client.auth.unlinkIdentity(only)),
    refused(422, 'single_identity_not_deletable', 'User must have at least 1 identity after unlinking'))
  assert.equal((await bad(client.auth.unlinkIdentity({ identity_id: randomUUID() }))).code, 'identity_not_found')
  assert.equal((await bad(client.auth.linkIdentity({ provider: 'github' }))).code, 'validation_failed')
  assert.equal((await bad(visitor().auth.linkIdentity(hint(address())))).code, 'bad_jwt')
})

test('a visitor stays by linking an account of the provider', async () => {
  const client = visitor()
  const [{ user }, email] = [await good(client.auth.signInAnonymously()), address('abroad')]

  await land((await good(client.auth.linkIdentity(hint(email)))).url)

  const { user: permanent } = await good(client.auth.getUser())
  assert.deepEqual([permanent.id, permanent.email, permanent.is_anonymous, ways(permanent)], [user.id, email, false, [provider]])
})

test('an ID token that an application got by itself signs in', async () => {
  const [email, nonce] = [address('native'), randomUUID()]
  const { id_token: token, access_token } = await tokensOf(email, createHash('sha256').update(nonce).digest('hex'))
  const client = visitor()
  const events = await listen(client)

  const { user, session } = await good(client.auth.signInWithIdToken({ provider, token, access_token, nonce }))

  assert.deepEqual([user.email, user.app_metadata.provider], [email, provider])
  assert.deepEqual(claimsOf(session.access_token).amr.map((each) => each.method), ['oauth'])
  assert.deepEqual(events, [['INITIAL_SESSION', null], ['SIGNED_IN', user.id]])
  assert.equal((await signIn(email)).user.id, user.id)
})

test('an ID token is linked to the person who brings it', async () => {
  const { client, user } = await member()
  const { id_token: token } = await tokensOf(address('native'))

  const { session } = await good(client.auth.linkIdentity({ provider, token }))

  assert.deepEqual([session.user.id, ways(session.user)], [user.id, ['email', provider]])
})

test('ID tokens that cannot be trusted', async () => {
  const email = address('native')
  const { id_token: token } = await tokensOf(email, createHash('sha256').update('a nonce').digest('hex'))
  const [head, body] = token.split('.')
  const forged = [head, body, Buffer.alloc(64, 1).toString('base64url')].join('.')
  const words = async (credentials) => {
    const { name, status, message } = await bad(visitor().auth.signInWithIdToken({ provider, token, ...credentials }))
    assert.deepEqual([name, status], ['AuthApiError', 400])
    return message
  }

  assert.equal(await words({}), 'Passed nonce and nonce in id_token should either both exist or not.')
  assert.equal(await words({ nonce: 'another' }), 'Nonces mismatch')
  assert.equal(await words({ token: forged, nonce: 'a nonce' }), 'Bad ID token')
  assert.match(await words({ provider: 'google' }), /not enabled/)
})

test('an invited person enters by the provider, with the address that was invited', async () => {
  const email = address('abroad')
  await good(admin.inviteUserByEmail(email))
  await letterTo(email)

  assert.equal((await signIn(email)).user.email, email)
})

test('enterprise sign-on is switched off', async () => {
  const off = refused(404, 'saml_provider_disabled', 'SAML 2.0 is disabled')

  assert.deepEqual(await bad(visitor().auth.signInWithSSO({ domain: 'example.com' })), off)
  assert.deepEqual(await bad(visitor().auth.signInWithSSO({ providerId: randomUUID() })), off)
  assert.equal((await bad(visitor().auth.getUserIdentities())).name, missing.name)
})

test('a server adds, changes and removes a provider of its own', async () => {
  const identifier = `custom:${randomUUID().slice(0, 8)}`
  const addresses = Object.fromEntries(['authorization', 'token', 'userinfo'].map((name) => [`${name}_url`, `https://93.184.216.34/${name}`]))
  const told = { provider_type: 'oauth2', identifier, name: 'Acme', client_id: 'c', client_secret: 's', scopes: ['read'], ...addresses }
  const { customProviders } = admin

  const made = await good(customProviders.createProvider(told))

  const { client_secret, ...shown } = told
  assert.deepEqual(Object.fromEntries(Object.keys(shown).map((key) => [key, made[key]])), shown)
  assert.ok(client_secret && made.client_secret === undefined && made.enabled && made.pkce_enabled)
  assert.deepEqual(await good(customProviders.getProvider(identifier)), made)
  assert.ok((await good(customProviders.listProviders())).providers.some((each) => each.identifier === identifier))
  assert.deepEqual((await good(customProviders.listProviders({ type: 'oidc' }))).providers, [])
  const { url } = await good(visitor().auth.signInWithOAuth({ provider: identifier }))
  assert.match((await fetch(url, { redirect: 'manual' })).headers.get('location'), /^https:\/\/93\.184\.216\.34\/authorization\?/)
  assert.equal((await good(customProviders.updateProvider(identifier, { name: 'Acme & Co', enabled: false }))).name, 'Acme & Co')
  assert.equal((await fetch(url, { redirect: 'manual' })).status, 400)
  assert.deepEqual(await customProviders.deleteProvider(identifier), { data: null, error: null })
  assert.equal((await bad(customProviders.getProvider(identifier))).code, 'custom_provider_not_found')
  assert.equal((await bad(visitor().auth.admin.customProviders.listProviders())).code, 'not_admin')
})
