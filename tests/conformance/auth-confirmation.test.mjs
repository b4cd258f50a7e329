// Accounts that are confirmed by letter or text message: sign-up, resending, invitations, and every link a server makes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  address, admin, bad, claimsOf, forgetful, good, listen, member, password, refused, signedIn, visitor,
} from './auth-people.mjs'
import { codeTo, land, letterTo, phoneNumber, site, unread } from './auth-post.mjs'

const notConfirmed = refused(400, 'email_not_confirmed', 'Email not confirmed')
const expired = refused(403, 'otp_expired', 'Token has expired or is invalid')
const signUp = async (options, client = visitor()) => {
  const email = address()
  const { user, session } = await good(client.auth.signUp({ email, password, options }))
  return { client, email, user, session }
}
const enter = (email) => visitor().auth.signInWithPassword({ email, password })

test('a sign-up waits for the code that was sent', async () => {
  const { client, email, user, session } = await signUp({ data: { name: 'Ada' } })

  assert.equal(session, null)
  assert.deepEqual([user.email, user.email_confirmed_at, user.last_sign_in_at], [email, undefined, undefined])
  assert.ok(user.confirmation_sent_at)
  assert.deepEqual(await bad(enter(email)), notConfirmed)
  const { subject, code } = await letterTo(email)
  assert.equal(subject, 'Confirm your email address')
  const events = await listen(client)
  const verified = await good(client.auth.verifyOtp({ email, token: code, type: 'signup' }))
  assert.equal(verified.user.id, user.id)
  assert.ok(verified.user.email_confirmed_at && verified.session.access_token)
  assert.deepEqual([verified.user.user_metadata.name, verified.user.user_metadata.email_verified], ['Ada', true])
  assert.deepEqual(claimsOf(verified.session.access_token).amr.map((each) => each.method), ['otp'])
  assert.deepEqual(events, [['INITIAL_SESSION', null], ['SIGNED_IN', user.id]])
  assert.deepEqual(await bad(visitor().auth.verifyOtp({ email, token: code, type: 'signup' })), expired)
  await signedIn(email)
})

test('the link of the letter confirms, and brings the session in the fragment', async () => {
  const { email, user } = await signUp({ emailRedirectTo: `${site}/welcome?from=letter` })
  const { link } = await letterTo(email)

  const { target, query, fragment } = await land(link)

  assert.deepEqual([target, query, fragment.type, fragment.token_type], [`${site}/welcome`, { from: 'letter' }, 'signup', 'bearer'])
  const { user: entered } = await good(visitor().auth.setSession(fragment))
  assert.equal(entered.id, user.id)
  const again = await land(link)
  assert.deepEqual([again.fragment.error, again.fragment.error_code, again.fragment.error_description],
    ['access_denied', 'otp_expired', 'Email link is invalid or has expired'])
})

test('a client that asks for codes exchanges the one its link brings', async () => {
  const { client } = forgetful({ flowType: 'pkce' })
  const { email, user } = await signUp({ emailRedirectTo: `${site}/welcome` }, client)

  const { target, query, fragment } = await land((await letterTo(email)).link)

  assert.deepEqual([target, Object.keys(query), fragment], [`${site}/welcome`, ['code'], {}])
  assert.equal((await bad(visitor().auth.exchangeCodeForSession(query.code))).code, 'validation_failed')
  const { session, redirectType } = await good(client.auth.exchangeCodeForSession(query.code))
  assert.deepEqual([session.user.id, redirectType], [user.id, null])
  assert.equal((await good(client.auth.getUser())).user.email, email)
})

test('a target that is not allowed is left out', async () => {
  const { email } = await signUp({ emailRedirectTo: 'https://elsewhere.example/welcome' })

  assert.equal((await land((await letterTo(email)).link)).target.replace(/\/$/, ''), site)
})

test('the hash in the link confirms through a page of the application', async () => {
  const { email } = await signUp()
  const hash = new URL((await letterTo(email)).link).searchParams.get('token')

  const { session } = await good(visitor().auth.verifyOtp({ token_hash: hash, type: 'email' }))

  assert.equal(session.user.email, email)
})

test('a letter is sent again, and only its code counts', async () => {
  const { email } = await signUp()
  const first = await letterTo(email)

  await good(visitor().auth.resend({ type: 'signup', email, options: { emailRedirectTo: `${site}/again` } }))

  const second = await letterTo(email)
  assert.equal(new URL(second.link).searchParams.get('redirect_to'), `${site}/again`)
  if (first.code !== second.code) assert.deepEqual(await bad(visitor().auth.verifyOtp({ email, token: first.code, type: 'signup' })), expired)
  await good(visitor().auth.verifyOtp({ email, token: second.code, type: 'email' }))
  await good(visitor().auth.resend({ type: 'signup', email }))
  await good(visitor().auth.resend({ type: 'signup', email: address() }))
  assert.equal(await unread(email), 0)
})

test('a sign-up with an address that is known tells nothing of it', async () => {
  const { email, user: owner } = await member()

  const { user, session } = await good(visitor().auth.signUp({ email, password: 'another word' }))

  assert.equal(session, null)
  assert.notEqual(user.id, owner.id)
  assert.deepEqual([user.email, user.identities], [email, []])
  await signedIn(email)
})

test('a sign-up by phone waits for the code of the message', async () => {
  const phone = phoneNumber()
  const client = visitor()
  const { user, session } = await good(client.auth.signUp({ phone, password, options: { data: { name: 'Ada' } } }))
  assert.deepEqual([session, user.phone, user.phone_confirmed_at], [null, phone.slice(1), undefined])
  assert.deepEqual(await bad(visitor().auth.signInWithPassword({ phone, password })),
    refused(400, 'phone_not_confirmed', 'Phone not confirmed'))
  await codeTo(phone)

  await good(visitor().auth.resend({ type: 'sms', phone }))
  const { session: made } = await good(client.auth.verifyOtp({ phone, token: await codeTo(phone), type: 'sms' }))

  assert.deepEqual([made.user.id, made.user.identities[0].provider], [user.id, 'phone'])
  assert.equal((await good(visitor().auth.signInWithPassword({ phone, password }))).user.id, user.id)
})

test('a wrong code is refused, and the right one still counts', async () => {
  const { email } = await signUp()
  const { code } = await letterTo(email)
  const wrong = String((Number(code) + 1) % 1e6).padStart(6, '0')

  assert.deepEqual(await bad(visitor().auth.verifyOtp({ email, token: wrong, type: 'signup' })), expired)
  assert.deepEqual(await bad(visitor().auth.verifyOtp({ email: address(), token: code, type: 'signup' })), expired)
  assert.deepEqual(await bad(visitor().auth.verifyOtp({ token_hash: 'nothing', type: 'signup' })),
    refused(403, 'otp_expired', 'Email link is invalid or has expired'))
  await good(visitor().auth.verifyOtp({ email, token: code, type: 'signup' }))
})

test('an invited person enters by the link, and takes a password', async () => {
  const email = address('invited')

  const { user } = await good(admin.inviteUserByEmail(email, { data: { team: 'red' }, redirectTo: `${site}/join` }))

  assert.deepEqual([user.email, user.user_metadata], [email, { team: 'red' }])
  assert.ok(user.invited_at)
  const { subject, link } = await letterTo(email)
  assert.equal(subject, 'You\'ve been invited')
  const { target, fragment } = await land(link)
  assert.deepEqual([target, fragment.type], [`${site}/join`, 'invite'])
  const client = visitor()
  await good(client.auth.setSession(fragment))
  await good(client.auth.updateUser({ password }))
  await signedIn(email)
  assert.deepEqual(await bad(admin.inviteUserByEmail(email)),
    refused(422, 'email_exists', 'A user with this email address has already been registered'))
})

test('an invited person enters by the code', async () => {
  const email = address('invited')
  await good(admin.inviteUserByEmail(email))

  const { session } = await good(visitor().auth.verifyOtp({ email, token: (await letterTo(email)).code, type: 'invite' }))

  assert.equal(session.user.email, email)
})

const links = {
  signup: () => ({ email: address(), password }),
  invite: () => ({ email: address() }),
  magiclink: async () => ({ email: (await member()).email }),
  recovery: async () => ({ email: (await member()).email }),
}
for (const [type, parameters] of Object.entries(links)) {
  test(`a server makes a link itself: ${type}`, async () => {
    const { email, ...more } = await parameters()

    const { properties, user } = await good(admin.generateLink({ type, email, ...more, options: { redirectTo: `${site}/in` } }))

    assert.deepEqual([user.email, properties.verification_type, properties.redirect_to], [email, type, `${site}/in`])
    assert.match(properties.email_otp, /^\d{6}$/)
    assert.equal(new URL(properties.action_link).searchParams.get('token'), properties.hashed_token)
    assert.equal(await unread(email), 0)
    const { target, fragment } = await land(properties.action_link)
    assert.deepEqual([target, fragment.type], [`${site}/in`, type])
    assert.equal((await good(visitor().auth.getUser(fragment.access_token))).user.id, user.id)
  })

  test(`the code and the hash of a link that a server made: ${type}`, async () => {
    const [one, two] = [await parameters(), await parameters()]
    const [first, second] = [await good(admin.generateLink({ type, ...one })), await good(admin.generateLink({ type, ...two }))]

    const byCode = await good(visitor().auth.verifyOtp({ email: one.email, token: first.properties.email_otp, type }))
    const byHash = await good(visitor().auth.verifyOtp({ token_hash: second.properties.hashed_token, type }))

    assert.deepEqual([byCode.user.id, byHash.user.id], [first.user.id, second.user.id])
  })
}

test('a server changes an address by the two links it makes', async () => {
  const [{ email, user }, newEmail] = [await member(), address('next')]
  const half = (type) => good(admin.generateLink({ type, email, newEmail }))

  const { properties: old } = await half('email_change_current')
  const { properties: next } = await half('email_change_new')

  assert.deepEqual([old.verification_type, next.verification_type], ['email_change_current', 'email_change_new'])
  const first = await land(old.action_link)
  assert.match(first.fragment.message, /^Confirmation link accepted/)
  const { fragment } = await land(next.action_link)
  assert.equal(fragment.type, 'email_change')
  assert.deepEqual((({ id, email: now }) => [id, now])((await good(visitor().auth.getUser(fragment.access_token))).user), [user.id, newEmail])
})

test('a link for somebody unknown', async () => {
  const email = address()

  const { properties } = await good(admin.generateLink({ type: 'magiclink', email }))

  assert.equal(properties.verification_type, 'signup')
  assert.deepEqual(await bad(admin.generateLink({ type: 'recovery', email: address() })),
    refused(404, 'user_not_found', 'User with this email not found'))
  assert.deepEqual(await bad(visitor().auth.admin.generateLink({ type: 'magiclink', email })), refused(403, 'not_admin', 'User not allowed'))
})
