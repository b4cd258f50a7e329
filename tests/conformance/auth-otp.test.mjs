// Sign-in without a password: codes and links by letter, in both flows, and codes by text message.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { address, bad, claimsOf, forgetful, good, listen, member, missing, refused, visitor } from './auth-people.mjs'
import { codeTo, land, letterTo, phoneNumber, site, unread } from './auth-post.mjs'

const expired = refused(403, 'otp_expired', 'Token has expired or is invalid')
const disallowed = refused(422, 'otp_disabled', 'Signups not allowed for otp')
const ask = async (credentials, client = visitor()) => {
  assert.deepEqual(await good(client.auth.signInWithOtp(credentials)), {
    user: null, session: null, ...('phone' in credentials && { messageId: undefined }),
  })
  return client
}

test('a code by letter signs in a person who is known', async () => {
  const { email, user } = await member()
  const client = await ask({ email })
  const events = await listen(client)
  const { subject, code } = await letterTo(email)

  const { session } = await good(client.auth.verifyOtp({ email, token: code, type: 'email' }))

  assert.equal(subject, 'Your sign-in link')
  assert.equal(session.user.id, user.id)
  assert.deepEqual(claimsOf(session.access_token).amr.map((each) => each.method), ['otp'])
  assert.deepEqual(events, [['INITIAL_SESSION', null], ['SIGNED_IN', user.id]])
  assert.deepEqual(await bad(client.auth.verifyOtp({ email, token: code, type: 'email' })), expired)
})

for (const type of ['magiclink', 'email', 'recovery']) {
  test(`the code of a person who is known is taken as ${type}`, async () => {
    const { email, user } = await member()
    await ask({ email })

    assert.equal((await good(visitor().auth.verifyOtp({ email, token: (await letterTo(email)).code, type }))).user.id, user.id)
  })
}

for (const type of ['signup', 'email']) {
  test(`a code makes the account of somebody new, and is taken as ${type}`, async () => {
    const email = address()
    await ask({ email, options: { data: { name: 'Ada' } } })

    const { user, session } = await good(visitor().auth.verifyOtp({ email, token: (await letterTo(email)).code, type }))

    assert.deepEqual([user.email, user.user_metadata.name, user.user_metadata.email_verified], [email, 'Ada', true])
    assert.deepEqual(user.identities.map((each) => each.provider), ['email'])
    assert.equal((await good(visitor().auth.getUser(session.access_token))).user.id, user.id)
  })
}

test('the link of a letter signs in', async () => {
  const { email, user } = await member()
  await ask({ email, options: { emailRedirectTo: `${site}/home` } })

  const { target, fragment } = await land((await letterTo(email)).link)

  assert.deepEqual([target, fragment.type, fragment.expires_in], [`${site}/home`, 'magiclink', '3600'])
  assert.equal((await good(visitor().auth.getUser(fragment.access_token))).user.id, user.id)
})

test('the link of a letter leads into an application of a telephone', async () => {
  const { email } = await member()
  await ask({ email, options: { emailRedirectTo: 'myapp://home' } })

  assert.equal((await land((await letterTo(email)).link)).target, 'myapp://home')
})

test('a client that asks for codes signs in by the one its link brings, and only once', async () => {
  const { email, user } = await member()
  const { client } = forgetful({ flowType: 'pkce' })
  await ask({ email, options: { emailRedirectTo: `${site}/home` } }, client)
  const { query } = await land((await letterTo(email)).link)

  const { session } = await good(client.auth.exchangeCodeForSession(query.code))

  assert.equal(session.user.id, user.id)
  assert.deepEqual(claimsOf(session.access_token).amr.map((each) => each.method), ['magiclink'])
  assert.equal((await bad(client.auth.exchangeCodeForSession(query.code))).name, 'AuthPKCECodeVerifierMissingError')
})

test('a code is worth nothing to a client that did not ask for it', async () => {
  const { email } = await member()
  const [asking, other] = [forgetful({ flowType: 'pkce' }).client, forgetful({ flowType: 'pkce' }).client]
  await ask({ email }, asking)
  await ask({ email: address() }, other)
  const { query } = await land((await letterTo(email)).link)

  assert.deepEqual(await bad(other.auth.exchangeCodeForSession(query.code)),
    refused(400, 'bad_code_verifier', 'code challenge does not match previously saved code verifier'))
  await good(asking.auth.exchangeCodeForSession(query.code))
})

test('the code of a letter also signs in a client that asks for codes', async () => {
  const { email, user } = await member()
  const client = await ask({ email }, forgetful({ flowType: 'pkce' }).client)

  assert.equal((await good(client.auth.verifyOtp({ email, token: (await letterTo(email)).code, type: 'email' }))).user.id, user.id)
})

test('nobody is made where the application does not wish it', async () => {
  const [email, phone] = [address(), phoneNumber()]

  assert.deepEqual(await bad(visitor().auth.signInWithOtp({ email, options: { shouldCreateUser: false } })), disallowed)
  assert.deepEqual(await bad(visitor().auth.signInWithOtp({ phone, options: { shouldCreateUser: false } })), disallowed)
  assert.equal(await unread(email), 0)
})

test('a code by text message makes an account, and signs in later', async () => {
  const phone = phoneNumber()
  const client = await ask({ phone, options: { data: { name: 'Ada' } } })

  const { user, session } = await good(client.auth.verifyOtp({ phone, token: await codeTo(phone), type: 'sms' }))

  assert.deepEqual([user.phone, user.user_metadata.name, user.app_metadata.providers], [phone.slice(1), 'Ada', ['phone']])
  assert.equal(claimsOf(session.access_token).phone, phone.slice(1))
  const { messageId } = await good(visitor().auth.signInWithOtp({ phone, options: { channel: 'sms' } }))
  assert.ok(messageId)
  const again = await good(visitor().auth.verifyOtp({ phone, token: await codeTo(phone), type: 'sms' }))
  assert.equal(again.user.id, user.id)
})

test('a number that is none, and a wrong code for one', async () => {
  const phone = phoneNumber()
  await ask({ phone })
  const code = await codeTo(phone)

  assert.deepEqual(await bad(visitor().auth.signInWithOtp({ phone: 'nobody' })),
    refused(400, 'validation_failed', 'Invalid phone number format (E.164 required)'))
  assert.deepEqual(await bad(visitor().auth.verifyOtp({ phone, token: '000000' === code ? '000001' : '000000', type: 'sms' })), expired)
  assert.deepEqual(await bad(visitor().auth.verifyOtp({ phone: phoneNumber(), token: code, type: 'sms' })), expired)
})

test('a forgotten password: the link brings a session that takes a new one', async () => {
  const { email, user } = await member()
  await good(visitor().auth.resetPasswordForEmail(email, { redirectTo: `${site}/new-password` }))
  const { subject, link } = await letterTo(email)

  const { target, fragment } = await land(link)

  assert.deepEqual([subject, target, fragment.type], ['Reset your password', `${site}/new-password`, 'recovery'])
  const client = visitor()
  await good(client.auth.setSession(fragment))
  await good(client.auth.updateUser({ password: 'beyond the hills' }))
  assert.equal((await good(visitor().auth.signInWithPassword({ email, password: 'beyond the hills' }))).user.id, user.id)
})

test('a forgotten password: the code tells the client that a new one is to be chosen', async () => {
  const { email, user } = await member()
  const client = visitor()
  const events = await listen(client)
  await good(client.auth.resetPasswordForEmail(email))

  await good(client.auth.verifyOtp({ email, token: (await letterTo(email)).code, type: 'recovery' }))
  await good(client.auth.updateUser({ password: 'beyond the hills' }))

  assert.deepEqual(events, [['INITIAL_SESSION', null], ['PASSWORD_RECOVERY', user.id], ['USER_UPDATED', user.id]])
})

test('a forgotten password, for a client that asks for codes', async () => {
  const { email } = await member()
  const { client } = forgetful({ flowType: 'pkce' })
  const events = await listen(client)
  await good(client.auth.resetPasswordForEmail(email, { redirectTo: `${site}/new-password` }))
  const { target, query } = await land((await letterTo(email)).link)

  const { redirectType } = await good(client.auth.exchangeCodeForSession(query.code))

  assert.deepEqual([target, redirectType, events.at(-1)[0]], [`${site}/new-password`, 'recovery', 'PASSWORD_RECOVERY'])
  await good(client.auth.updateUser({ password: 'beyond the hills' }))
})

test('a forgotten password of an unknown address is no error, and sends nothing', async () => {
  const email = address()

  await good(visitor().auth.resetPasswordForEmail(email))

  assert.equal(await unread(email), 0)
})

test('a person proves to be there: the nonce of a letter', async () => {
  const { client, email } = await member()
  const secure = () => client.auth.updateUser({ password: 'beyond the hills', nonce: '000000' })

  await good(client.auth.reauthenticate())

  const { subject, code } = await letterTo(email)
  assert.equal(subject, `${code} is your verification code`)
  await good(client.auth.updateUser({ password: 'beyond the hills', nonce: code }))
  assert.equal((await bad(secure())).code, 'same_password')
  assert.deepEqual(await bad(visitor().auth.reauthenticate()), missing)
})

test('a person with a number only proves to be there by text message', async () => {
  const phone = phoneNumber()
  const client = await ask({ phone })
  await good(client.auth.verifyOtp({ phone, token: await codeTo(phone), type: 'sms' }))

  await good(client.auth.reauthenticate())

  assert.match(await codeTo(phone), /^\d{6}$/)
})
