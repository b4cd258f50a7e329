// Where accounts are confirmed at once, letters still sign in, and an address still changes by its letters only.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { address, bad, good, signedUp, visitor } from './auth-people.mjs'
import { land, letterTo, unread } from './auth-post.mjs'

test('a sign-up sends nothing', async () => {
  assert.equal(await unread((await signedUp()).email), 0)
})

test('a code by letter makes an account, and signs in', async () => {
  const email = address()
  await good(visitor().auth.signInWithOtp({ email, options: { data: { name: 'Ada' } } }))

  const { user } = await good(visitor().auth.verifyOtp({ email, token: (await letterTo(email)).code, type: 'email' }))

  assert.deepEqual([user.email, user.user_metadata.name], [email, 'Ada'])
})

test('a forgotten password is replaced by way of a letter', async () => {
  const { email } = await signedUp()
  await good(visitor().auth.resetPasswordForEmail(email))
  const client = visitor()

  await good(client.auth.verifyOtp({ email, token: (await letterTo(email)).code, type: 'recovery' }))
  await good(client.auth.updateUser({ password: 'beyond the hills' }))

  assert.equal((await good(visitor().auth.signInWithPassword({ email, password: 'beyond the hills' }))).user.email, email)
})

test('another address waits for both letters', async () => {
  const [{ client, email }, next] = [await signedUp(), address('next')]
  const { user } = await good(client.auth.updateUser({ email: next }))
  assert.deepEqual([user.email, user.new_email], [email, next])

  await land((await letterTo(email)).link)
  await land((await letterTo(next)).link)

  assert.equal((await good(client.auth.getUser())).user.email, next)
})

test('letters of one kind come some time apart', async () => {
  const { email } = await signedUp()
  await good(visitor().auth.signInWithOtp({ email }))

  const error = await bad(visitor().auth.signInWithOtp({ email }))

  assert.deepEqual([error.status, error.code], [429, 'over_email_send_rate_limit'])
  assert.match(error.message, /^For security purposes, you can only request this after \d+ seconds?\.?$/)
})
