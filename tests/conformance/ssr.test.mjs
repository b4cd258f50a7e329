// @supabase/ssr on a running platform: each request of a web server makes its own client, and the browser's cookies are all that lasts.
// Environment: as in clients.mjs, and MAILPIT_URL; PROVIDER_URL for sign-ins at a provider.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createServerClient, parseCookieHeader, serializeCookieHeader } from '@supabase/ssr'
import WebSocket from 'ws'
import { address, admin, claimsOf, good, member, password } from './auth-people.mjs'
import { land, letterTo, site } from './auth-post.mjs'

const { API_URL, ANON_KEY } = process.env

/** A browser's cookies, and a way to make the client of one request that it sends. */
function browser() {
  const jar = new Map()
  const request = () => {
    const sent = [...jar].map(([name, value]) => serializeCookieHeader(name, value, {})).map((line) => line.split(';')[0]).join('; ')
    return createServerClient(API_URL, ANON_KEY, {
      realtime: { transport: WebSocket },
      cookies: {
        getAll: () => parseCookieHeader(sent),
        setAll: (cookies) => {
          for (const { name, value, options } of cookies) {
            if (options.maxAge === 0) jar.delete(name)
            else jar.set(name, value)
          }
        },
      },
    })
  }
  return { jar, request }
}

/** Let the access token in the cookies have expired, as far as the client knows. */
function expire(jar) {
  const names = [...jar.keys()].filter((name) => /-auth-token(\.\d+)?$/.test(name)).sort()
  const text = names.map((name) => jar.get(name)).join('')
  const session = JSON.parse(Buffer.from(text.replace('base64-', ''), 'base64url').toString())
  const old = `base64-${Buffer.from(JSON.stringify({ ...session, expires_at: 1 })).toString('base64url')}`
  for (const name of names) jar.delete(name)
  jar.set(names[0].replace(/\.\d+$/, ''), old)
  return session
}

test('a session lasts over requests in cookies, and ends with a sign-out', async () => {
  const { email, user } = await member()
  const { jar, request } = browser()

  await good(request().auth.signInWithPassword({ email, password }))
  assert.ok(jar.size > 0)
  assert.equal((await good(request().auth.getUser())).user.id, user.id)
  assert.equal((await good(request().auth.getClaims())).claims.sub, user.id)
  const { error } = await request().auth.signOut()
  assert.equal(error, null)

  assert.deepEqual([...jar.values()].filter(Boolean), [])
  assert.equal((await request().auth.getUser()).error.name, 'AuthSessionMissingError')
})

test('a session that is longer than a cookie is in several', async () => {
  const { email, user } = await member({ user_metadata: { story: 'x'.repeat(6000) } })
  const { jar, request } = browser()

  await good(request().auth.signInWithPassword({ email, password }))

  assert.ok([...jar.keys()].some((name) => name.endsWith('.1')), [...jar.keys()].join())
  assert.equal((await good(request().auth.getUser())).user.id, user.id)
})

test('rows are read as the user of the cookies', async () => {
  const { email, user } = await member()
  const { request } = browser()
  await good(request().auth.signInWithPassword({ email, password }))

  const { owner } = await good(request().from('diaries').insert({ entry: 'mine' }).select('owner').single())

  assert.equal(owner, user.id)
  assert.deepEqual(await good(browser().request().from('diaries').select('entry')), [])
})

test('an expired token is exchanged, and the new one is in the cookies of the response', async () => {
  const { email, user } = await member()
  const { jar, request } = browser()
  await good(request().auth.signInWithPassword({ email, password }))
  const old = expire(jar)

  assert.equal((await good(request().auth.getUser())).user.id, user.id)
  const { session } = await good(request().auth.getSession())

  assert.notEqual(session.refresh_token, old.refresh_token)
  assert.ok(session.expires_at > Date.now() / 1000)
  assert.equal(claimsOf(session.access_token).session_id, claimsOf(old.access_token).session_id)
})

test('a sign-up is confirmed by a link, whose code only the same browser exchanges', async () => {
  const email = address()
  const { jar, request } = browser()
  const options = { emailRedirectTo: `${site}/auth/callback` }
  const { user, session } = await good(request().auth.signUp({ email, password, options }))
  assert.equal(session, null)
  assert.ok([...jar.keys()].some((name) => name.endsWith('-code-verifier')), [...jar.keys()].join())

  const { query } = await land((await letterTo(email)).link)
  const { error } = await browser().request().auth.exchangeCodeForSession(query.code)
  assert.notEqual(error, null)
  await good(request().auth.exchangeCodeForSession(query.code))

  assert.equal((await good(request().auth.getUser())).user.id, user.id)
  assert.notEqual((await request().auth.exchangeCodeForSession(query.code)).error, null)
})

test('a page on the server confirms the hash of a link', async () => {
  const email = address()
  await good(browser().request().auth.signUp({ email, password }))
  const hash = new URL((await letterTo(email)).link).searchParams.get('token')
  const { request } = browser()

  await good(request().auth.verifyOtp({ type: 'email', token_hash: hash }))

  assert.equal((await good(request().auth.getUser())).user.email, email)
})

test('a sign-in at a provider ends with a code for the server', async () => {
  const email = address()
  const { request } = browser()
  const options = { redirectTo: `${site}/auth/callback`, queryParams: { login_hint: email } }
  const { url } = await good(request().auth.signInWithOAuth({ provider: 'keycloak', options }))

  const { target, query } = await land(url)
  await good(request().auth.exchangeCodeForSession(query.code))

  assert.equal(target, `${site}/auth/callback`)
  assert.equal((await good(request().auth.getUser())).user.email, email)
})

test('the session of a deleted user is gone from the cookies', async () => {
  const { email, user } = await member()
  const { jar, request } = browser()
  await good(request().auth.signInWithPassword({ email, password }))
  await good(admin.deleteUser(user.id))
  expire(jar)

  assert.equal((await request().auth.getUser()).data.user, null)

  assert.deepEqual([...jar.values()].filter(Boolean), [])
})
