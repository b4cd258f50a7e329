// Second factors: an authenticator app, a telephone, codes on paper. (Security keys need a browser: auth-browser.test.mjs.)
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { totp, wrongTotp } from './auth-codes.mjs'
import { admin, bad, claimsOf, good, listen, member, missing, refused, signedIn, visitor, withKey } from './auth-people.mjs'
import { codeTo, phoneNumber } from './auth-post.mjs'

const { ANON_KEY } = process.env
const invalid = refused(422, 'mfa_verification_failed', 'Invalid TOTP code entered')
const level = async ({ auth }, token) => {
  const { data } = await auth.mfa.getAuthenticatorAssuranceLevel(token)
  return [data.currentLevel, data.nextLevel]
}
/** Enroll an app and prove it with the code of now: the test's own is the next one. */
const withApp = async (one) => {
  const { id: factorId, totp: { secret } } = await good(one.client.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'app' }))
  await good(one.client.auth.mfa.challengeAndVerify({ factorId, code: totp(secret) }))
  return { ...one, factorId, secret }
}

test('an app is enrolled, and proves the session', async () => {
  const { client, user, email } = await member()
  const { mfa } = client.auth
  const events = await listen(client)

  const { id: factorId, type, friendly_name, totp: shown } = await good(mfa.enroll({ factorType: 'totp', friendlyName: 'app', issuer: 'Acme' }))

  assert.deepEqual([type, friendly_name], ['totp', 'app'])
  assert.match(shown.secret, /^[A-Z2-7]{32}$/)
  assert.match(shown.qr_code, /^data:image\/svg\+xml;utf-8,<(\?xml|svg)/)
  const uri = new URL(shown.uri)
  assert.deepEqual([uri.protocol, uri.host, uri.searchParams.get('issuer'), uri.searchParams.get('secret')], ['otpauth:', 'totp', 'Acme', shown.secret])
  assert.ok(decodeURIComponent(uri.pathname).includes(email))
  assert.deepEqual([(await good(mfa.listFactors())).totp, await level(client)], [[], ['aal1', 'aal1']])
  const challenge = await good(mfa.challenge({ factorId }))
  assert.deepEqual([challenge.type, Math.abs(challenge.expires_at - Date.now() / 1000 - 300) < 10], ['totp', true])
  assert.deepEqual(await bad(mfa.verify({ factorId, challengeId: challenge.id, code: wrongTotp(shown.secret) })), invalid)
  const { user: proven, access_token } = await good(mfa.verify({ factorId, challengeId: challenge.id, code: totp(shown.secret) }))

  assert.deepEqual(proven.factors.map((each) => [each.id, each.status, each.factor_type]), [[factorId, 'verified', 'totp']])
  const claims = claimsOf(access_token)
  assert.deepEqual([claims.aal, claims.amr.map((each) => each.method)], ['aal2', ['totp', 'password']])
  assert.deepEqual([await level(client), await level(client, access_token)], [['aal2', 'aal2'], ['aal2', 'aal2']])
  assert.deepEqual((await good(mfa.listFactors())).totp.map((each) => each.id), [factorId])
  assert.deepEqual(events, [['INITIAL_SESSION', user.id], ['MFA_CHALLENGE_VERIFIED', user.id]])
  const { session } = await good(client.auth.refreshSession())
  assert.equal(claimsOf(session.access_token).aal, 'aal2')
})

test('who signs in must prove the factor before the account may be changed', async () => {
  const { email, factorId, secret } = await withApp(await member())
  const { client, session } = await signedIn(email)

  assert.deepEqual(await level(client), ['aal1', 'aal2'])
  assert.equal((await bad(client.auth.updateUser({ password: 'beyond the hills' }))).code, 'insufficient_aal')
  assert.equal((await bad(client.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'second' }))).code, 'insufficient_aal')
  assert.equal((await bad(client.auth.mfa.unenroll({ factorId }))).code, 'insufficient_aal')
  await good(client.auth.mfa.challengeAndVerify({ factorId, code: totp(secret, 1) }))

  assert.deepEqual(await level(client), ['aal2', 'aal2'])
  assert.equal((await bad(visitor().auth.refreshSession(session))).name, 'AuthApiError')
  await good(client.auth.updateUser({ password: 'beyond the hills' }))
})

test('proving a factor ends the sessions that have not', async () => {
  const one = await member()
  const other = await signedIn(one.email)

  await withApp(one)

  assert.deepEqual(await bad(other.client.auth.getUser()), missing)
  assert.equal((await good(one.client.auth.getUser())).user.id, one.user.id)
})

test('a code counts once', async () => {
  const { client, factorId, secret } = await withApp(await member())
  const code = totp(secret, 1)
  await good(client.auth.mfa.challengeAndVerify({ factorId, code }))

  assert.deepEqual(await bad(client.auth.mfa.challengeAndVerify({ factorId, code })), invalid)
})

test('a factor is given up, and the session counts less', async () => {
  const { client, factorId } = await withApp(await member())

  assert.deepEqual(await good(client.auth.mfa.unenroll({ factorId })), { id: factorId })

  await good(client.auth.refreshSession())
  assert.deepEqual(await level(client), ['aal1', 'aal1'])
  assert.deepEqual((await good(client.auth.mfa.listFactors())).all, [])
})

test('a telephone is a factor', async () => {
  const { client } = await member()
  const phone = phoneNumber()
  const { id: factorId, type, phone: shown } = await good(client.auth.mfa.enroll({ factorType: 'phone', phone, friendlyName: 'mine' }))
  assert.deepEqual([type, shown.replace('+', '')], ['phone', phone.slice(1)])

  const { id: challengeId } = await good(client.auth.mfa.challenge({ factorId, channel: 'sms' }))
  await good(client.auth.mfa.verify({ factorId, challengeId, code: await codeTo(phone) }))

  const { currentLevel, currentAuthenticationMethods } = await good(client.auth.mfa.getAuthenticatorAssuranceLevel())
  assert.deepEqual([currentLevel, currentAuthenticationMethods.map((each) => each.method)], ['aal2', ['mfa/phone', 'password']])
  assert.equal((await good(client.auth.mfa.listFactors())).phone[0].phone.replace('+', ''), phone.slice(1))
  const { id: again } = await good(client.auth.mfa.challenge({ factorId }))
  const code = await codeTo(phone)
  assert.deepEqual(await bad(client.auth.mfa.verify({ factorId, challengeId: again, code: code === '000000' ? '000001' : '000000' })),
    refused(422, 'mfa_verification_failed', 'Invalid MFA Phone code entered'))
})

test('codes on paper stand in for the app', async () => {
  const one = await member()
  const { client } = one
  const paper = withKey(ANON_KEY, { auth: { experimental: { recoveryCodes: true }, persistSession: false, autoRefreshToken: false } })
  const { recoveryCodes } = paper.auth.mfa
  await withApp(one)
  await good(paper.auth.setSession((await good(client.auth.getSession())).session))

  const { codes, total, type } = await good(recoveryCodes.generate({ friendlyName: 'paper' }))

  assert.deepEqual([type, total, codes.length, new Set(codes).size], ['recovery_code', 10, 10, 10])
  const { session } = await signedIn(one.email)
  await good(paper.auth.setSession(session))
  await good(recoveryCodes.verify({ code: codes[0].toLowerCase() }))
  assert.deepEqual(await level(paper), ['aal2', 'aal2'])
  assert.deepEqual((({ total: all, remaining }) => [all, remaining])(await good(recoveryCodes.getStatus())), [10, 9])
  assert.equal((await bad(recoveryCodes.verify({ code: codes[0] }))).code, 'mfa_verification_failed')
  const { codes: fresh } = await good(recoveryCodes.regenerate())
  assert.equal(fresh.some((code) => codes.includes(code)), false)
  await good(recoveryCodes.unenroll())
  assert.deepEqual((await good(paper.auth.mfa.listFactors())).recovery_code, [])
})

test('factors that cannot be', async () => {
  const { client } = await member()
  const { mfa } = client.auth
  await good(mfa.enroll({ factorType: 'totp', friendlyName: 'app' }))
  const stranger = visitor()
  await good(stranger.auth.signInAnonymously())

  assert.equal((await bad(mfa.enroll({ factorType: 'totp', friendlyName: 'app' }))).code, 'mfa_factor_name_conflict')
  assert.equal((await bad(mfa.enroll({ factorType: 'phone', phone: 'nobody' }))).code, 'validation_failed')
  assert.equal((await bad(mfa.enroll({ factorType: 'smell' }))).code, 'validation_failed')
  assert.deepEqual((({ status, code }) => [status, code])(await bad(mfa.challenge({ factorId: randomUUID() }))), [404, 'mfa_factor_not_found'])
  assert.equal((await bad(stranger.auth.mfa.enroll({ factorType: 'totp' }))).code, 'no_authorization')
  assert.equal((await bad(visitor().auth.mfa.enroll({ factorType: 'totp' }))).code, 'bad_jwt')
})

test('a server sees the factors of a person, and takes one away', async () => {
  const { client, user, factorId } = await withApp(await member())

  const { factors } = await good(admin.mfa.listFactors({ userId: user.id }))
  assert.deepEqual(factors.map((each) => [each.id, each.friendly_name, each.factor_type, each.status]), [[factorId, 'app', 'totp', 'verified']])
  assert.ok(!JSON.stringify(factors).includes('secret'))
  const { data } = await good(admin.mfa.deleteFactor({ userId: user.id, id: factorId }))

  assert.equal(data.id, factorId)
  assert.deepEqual((await good(admin.mfa.listFactors({ userId: user.id }))).factors, [])
  assert.equal(claimsOf((await good(client.auth.refreshSession())).session.access_token).aal, 'aal1')
  assert.equal((await bad(client.auth.admin.mfa.listFactors({ userId: user.id }))).code, 'not_admin')
  assert.equal((await bad(admin.mfa.deleteFactor({ userId: user.id, id: factorId }))).code, 'mfa_factor_not_found')
})
