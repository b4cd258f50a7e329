// Changes of an account that must be confirmed: another address, another number, and a visitor who stays.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { address, bad, claimsOf, forgetful, good, listen, member, password, refused, signedIn, visitor } from './auth-people.mjs'
import { codeTo, land, letterTo, phoneNumber, site, unread } from './auth-post.mjs'
import { db, fine } from './clients.mjs'

const accepted = 'Confirmation link accepted. Please proceed to confirm link sent to the other email'
const changing = async (one, options) => {
  const next = address('next')
  const { user } = await good(one.client.auth.updateUser({ email: next }, options))
  return { next, user }
}
const emailOf = async ({ client }) => (await good(client.auth.getUser())).user.email

test('another address holds when both ends have followed their links', async () => {
  const one = await member()

  const { next, user } = await changing(one, { emailRedirectTo: `${site}/settings` })

  assert.deepEqual([user.email, user.new_email], [one.email, next])
  assert.ok(user.email_change_sent_at)
  const [old, fresh] = [await letterTo(one.email), await letterTo(next)]
  assert.equal(fresh.subject, 'Confirm your new email address')
  const first = await land(fresh.link)
  assert.deepEqual([first.target, first.fragment.message], [`${site}/settings`, accepted])
  assert.equal(await emailOf(one), one.email)
  const second = await land(old.link)
  assert.deepEqual([second.target, second.fragment.type], [`${site}/settings`, 'email_change'])
  assert.equal(await emailOf(one), next)
  const { user: changed } = await good(visitor().auth.getUser(second.fragment.access_token))
  assert.deepEqual([changed.id, changed.new_email, changed.identities[0].email], [one.user.id, undefined, next])
  await signedIn(next)
  assert.equal((await bad(visitor().auth.signInWithPassword({ email: one.email, password }))).code, 'invalid_credentials')
})

test('another address holds when both codes were entered, in any order', async () => {
  const one = await member()
  const { next } = await changing(one)
  const [old, fresh] = [(await letterTo(one.email)).code, (await letterTo(next)).code]

  const first = await good(one.client.auth.verifyOtp({ email: one.email, token: old, type: 'email_change' }))
  const second = await good(one.client.auth.verifyOtp({ email: next, token: fresh, type: 'email_change' }))

  assert.equal(first.session, null)
  assert.deepEqual([second.user.id, second.session.user.email], [one.user.id, next])
})

test('the letters of a change are sent again', async () => {
  const one = await member()
  const { next } = await changing(one)
  await letterTo(one.email)
  await letterTo(next)

  await good(one.client.auth.resend({ type: 'email_change', email: one.email }))

  assert.match((await letterTo(next)).code, /^\d{6}$/)
  assert.match((await letterTo(one.email)).code, /^\d{6}$/)
})

test('another address, for a client that asks for codes', async () => {
  const { email } = await member()
  const { client } = forgetful({ flowType: 'pkce' })
  await good(client.auth.signInWithPassword({ email, password }))
  const { next } = await changing({ client }, { emailRedirectTo: `${site}/settings` })

  const first = await land((await letterTo(email)).link)
  const second = await land((await letterTo(next)).link)

  assert.equal(first.query.message, accepted)
  const { session } = await good(client.auth.exchangeCodeForSession(second.query.code))
  assert.equal(session.user.email, next)
})

test('an address of somebody else is refused, and sends nothing', async () => {
  const [one, other] = [await member(), await member()]

  assert.deepEqual(await bad(one.client.auth.updateUser({ email: other.email })),
    refused(422, 'email_exists', 'A user with this email address has already been registered'))

  assert.deepEqual([await unread(one.email), await unread(other.email)], [0, 0])
})

test('a number is added by the code sent to it, and changed by the next', async () => {
  const [{ client, user }, phone, next] = [await member(), phoneNumber(), phoneNumber()]

  const { user: asked } = await good(client.auth.updateUser({ phone }))
  assert.deepEqual([asked.phone, asked.new_phone], ['', phone.slice(1)])
  const { user: with1 } = await good(client.auth.verifyOtp({ phone, token: await codeTo(phone), type: 'phone_change' }))
  await good(client.auth.updateUser({ phone: next }))
  await codeTo(next)
  await good(client.auth.resend({ type: 'phone_change', phone }))
  const { user: with2 } = await good(client.auth.verifyOtp({ phone: next, token: await codeTo(next), type: 'phone_change' }))

  assert.deepEqual([with1.id, with1.phone, with2.phone], [user.id, phone.slice(1), next.slice(1)])
  assert.deepEqual(with2.identities.map((each) => each.provider).sort(), ['email', 'phone'])
  assert.equal((await good(visitor().auth.signInWithPassword({ phone: next, password }))).user.id, user.id)
})

test('a visitor stays by confirming an address', async () => {
  const client = visitor()
  const { user } = await good(client.auth.signInAnonymously())
  const events = await listen(client)
  const email = address()

  const { user: asked } = await good(client.auth.updateUser({ email, data: { name: 'Ada' } }))

  assert.deepEqual([asked.is_anonymous, asked.email, asked.new_email], [true, '', email])
  const { session } = await good(client.auth.verifyOtp({ email, token: (await letterTo(email)).code, type: 'email_change' }))
  assert.deepEqual([session.user.id, session.user.email, session.user.is_anonymous], [user.id, email, false])
  assert.equal(claimsOf(session.access_token).is_anonymous, false)
  await good(client.auth.updateUser({ password }))
  await signedIn(email)
  assert.deepEqual(events.map(([event]) => event), ['INITIAL_SESSION', 'USER_UPDATED', 'SIGNED_IN', 'USER_UPDATED'])
})

test('a visitor stays by confirming a number', async () => {
  const client = visitor()
  const { user } = await good(client.auth.signInAnonymously())
  const phone = phoneNumber()
  await good(client.auth.updateUser({ phone }))

  const { user: permanent } = await good(client.auth.verifyOtp({ phone, token: await codeTo(phone), type: 'phone_change' }))

  assert.deepEqual([permanent.id, permanent.phone, permanent.is_anonymous], [user.id, phone.slice(1), false])
})

test('a session that began long ago changes the password with a nonce only', async () => {
  const { client, session, email } = await member()
  const other = { password: 'beyond the hills' }
  await fine(db.rpc('set_session_start_back', { session: claimsOf(session.access_token).session_id }))

  assert.equal((await bad(client.auth.updateUser(other))).code, 'reauthentication_needed')
  await good(client.auth.reauthenticate())
  const { code } = await letterTo(email)
  assert.deepEqual(await bad(client.auth.updateUser({ ...other, nonce: code === '000000' ? '000001' : '000000' })),
    refused(422, 'reauthentication_not_valid', 'Nonce has expired or is invalid'))
  await good(client.auth.updateUser({ ...other, nonce: code }))

  await signedIn(email, other.password)
})
