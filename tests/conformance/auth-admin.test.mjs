// Accounts in the hands of a server.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { address, admin, bad, claimsOf, good, missing, password, refused, signedIn, signedUp, visitor, withKey } from './auth-people.mjs'
import { db, rows } from './clients.mjs'

const unknown = refused(404, 'user_not_found', 'User not found')
const taken = refused(422, 'email_exists', 'A user with this email address has already been registered')
const notAdmin = refused(403, 'not_admin', 'User not allowed')
const banned = (status) => refused(status, 'user_banned', 'User is banned')
const invalid = refused(400, 'invalid_credentials', 'Invalid login credentials')
const made = async (attributes) => (await good(admin.createUser({ email: address(), ...attributes }))).user
const entering = (email, word = password) => visitor().auth.signInWithPassword({ email, password: word })

test('a user is made with all that a server may say of it', async () => {
  const [email, id] = [address('Made'), randomUUID()]

  const user = await made({
    id, email, password, email_confirm: true, phone: '+15550100', phone_confirm: true, role: 'supporter',
    user_metadata: { name: 'Ada' }, app_metadata: { team: 'red' },
  })

  assert.deepEqual([user.id, user.email, user.phone, user.role], [id, email.toLowerCase(), '15550100', 'supporter'])
  assert.deepEqual(user.user_metadata, { name: 'Ada', email_verified: true })
  assert.deepEqual(user.app_metadata, { provider: 'email', providers: ['email', 'phone'], team: 'red' })
  assert.deepEqual(user.identities.map((each) => each.provider).sort(), ['email', 'phone'])
  assert.ok(user.email_confirmed_at && user.phone_confirmed_at && !user.last_sign_in_at)
  assert.deepEqual((await good(admin.getUserById(id))).user, user)
  const { session } = await good(entering(email))
  assert.equal(claimsOf(session.access_token).role, 'supporter')
  await good(admin.deleteUser(id))
})

test('a user is made with little, and its metadata is exactly what was given', async () => {
  const user = await made({ user_metadata: { name: 'Ada' } })

  assert.deepEqual(user.user_metadata, { name: 'Ada' })
  assert.equal(user.email_confirmed_at, undefined)
  assert.equal(user.is_anonymous, false)
})

test('a password comes as a hash that another system made', async () => {
  // The word "test", hashed by bcrypt.
  const { email } = await made({ password_hash: '$2y$10$SXEz2HeT8PUIGQXo9yeUIem8KzNxgG0d7o/.eGj2rj8KbRgAuRVlq', email_confirm: true })

  assert.equal((await good(entering(email, 'test'))).user.email, email)
  await signedIn(email, 'test')
})

test('users are listed in pages, newest first', async () => {
  const mine = [await made(), await made(), await made()].map((each) => each.id).reverse()
  const { total } = await good(admin.listUsers())
  const perPage = Math.ceil(total / 3)

  const pages = [1, 2, 3].map((page) => good(admin.listUsers({ page, perPage })))

  const [first, second, third] = await Promise.all(pages)
  assert.deepEqual([first, second, third].map((each) => [each.nextPage, each.lastPage, each.total, each.aud]), [
    [2, 3, total, 'authenticated'], [3, 3, total, 'authenticated'], [null, 3, total, 'authenticated'],
  ])
  const ids = [first, second, third].flatMap((each) => each.users.map((user) => user.id))
  assert.deepEqual([ids.length, new Set(ids).size, ids.slice(0, 3)], [total, total, mine])
  assert.deepEqual((await good(admin.listUsers({ page: 4, perPage }))).users, [])
  assert.deepEqual((await good(admin.listUsers({ perPage: 1 }))).users, [first.users[0]])
  assert.equal((await bad(admin.listUsers({ page: -1 }))).code, 'validation_failed')
})

test('a user is changed, and all takes effect at once', async () => {
  const { user: { id }, email, client } = await signedUp({ name: 'Ada', age: 36 })
  const next = address('next')

  const { user } = await good(admin.updateUserById(id, {
    email: next, email_confirm: true, role: 'supporter', user_metadata: { age: null, city: 'London' }, app_metadata: { team: 'red', left: null },
  }))

  assert.deepEqual([user.email, user.role, user.app_metadata], [next, 'supporter', { provider: 'email', providers: ['email'], team: 'red' }])
  assert.deepEqual([user.user_metadata.name, user.user_metadata.city, 'age' in user.user_metadata], ['Ada', 'London', false])
  assert.deepEqual(user.identities.map((each) => [each.email, each.identity_data.email]), [[next, next]])
  assert.deepEqual((await good(client.auth.getUser())).user, user)
  assert.deepEqual(await bad(entering(email)), invalid)
  await signedIn(next)
})

test('a password that a server sets ends all sessions', async () => {
  const { user, email, client } = await signedUp()

  await good(admin.updateUserById(user.id, { password: 'beyond the hills' }))

  assert.deepEqual(await bad(client.auth.getUser()), missing)
  await signedIn(email, 'beyond the hills')
})

test('a ban keeps a user out, and is lifted', async () => {
  const { user: { id }, email, session, client } = await signedUp()

  const { user } = await good(admin.updateUserById(id, { ban_duration: '24h30m' }))

  const left = Date.parse(user.banned_until) - Date.parse(user.updated_at)
  assert.ok(Math.abs(left - 24.5 * 3600e3) < 10e3, user.banned_until)
  assert.deepEqual(await bad(entering(email)), banned(400))
  assert.deepEqual(await bad(client.auth.refreshSession()), banned(400))
  assert.deepEqual(await bad(visitor().auth.getUser(session.access_token)), banned(403))
  assert.equal((await good(admin.updateUserById(id, { ban_duration: 'none' }))).user.banned_until, undefined)
  await signedIn(email)
  const born = await made({ password, email_confirm: true, ban_duration: '1h' })
  assert.deepEqual(await bad(entering(born.email)), banned(400))
})

test('a deleted user is gone, with the rows that belong to it', async () => {
  const { user, email, session, client } = await signedUp()
  await rows(client.from('diaries').insert({ entry: 'dear diary' }).select())

  await good(admin.deleteUser(user.id))

  assert.deepEqual(await bad(admin.getUserById(user.id)), unknown)
  assert.deepEqual(await bad(client.auth.getUser()), refused(403, 'user_not_found', 'User from sub claim in JWT does not exist'))
  assert.equal((await bad(visitor().auth.refreshSession(session))).code, 'refresh_token_not_found')
  assert.deepEqual(await bad(entering(email)), invalid)
  assert.deepEqual(await rows(db.from('diaries').select().eq('owner', user.id)), [])
  assert.deepEqual(await bad(admin.deleteUser(user.id)), unknown)
})

test('a softly deleted user keeps its row, and nothing that tells who it was', async () => {
  const { user: { id }, email, client } = await signedUp({ name: 'Ada' })
  await rows(client.from('diaries').insert({ entry: 'dear diary' }).select())

  await good(admin.deleteUser(id, true))

  const { user } = await good(admin.getUserById(id))
  assert.ok(user.deleted_at)
  assert.notEqual(user.email, email)
  assert.ok(!JSON.stringify(user).includes(email) && !JSON.stringify(user).includes('Ada'))
  assert.deepEqual(await bad(client.auth.getUser()), refused(403, 'user_not_found', 'User from sub claim in JWT does not exist'))
  assert.deepEqual(await bad(entering(email)), invalid)
  assert.deepEqual(await rows(db.from('diaries').select('entry').eq('owner', id)), [{ entry: 'dear diary' }])
  assert.ok((await good(admin.listUsers({ perPage: 1000 }))).users.every((each) => each.id !== id))
  const again = await good(visitor().auth.signUp({ email, password }))
  assert.notEqual(again.user.id, id)
})

const nobody = randomUUID()
const refusals = {
  'an address that is taken': async () => [admin.createUser({ email: (await made()).email }), taken],
  'an address that is taken, for another': async () => [admin.updateUserById((await made()).id, { email: (await made()).email }), taken],
  'no address at all': () => [admin.createUser({ password }),
    refused(400, 'validation_failed', 'Cannot create a user without either an email or phone')],
  'a duration that is none': async () => [admin.updateUserById((await made()).id, { ban_duration: 'long' }), { code: 'validation_failed', status: 400 }],
  'an unknown user, to read': () => [admin.getUserById(nobody), unknown],
  'an unknown user, to change': () => [admin.updateUserById(nobody, { role: 'x' }), unknown],
  'an unknown user, to delete': () => [admin.deleteUser(nobody), unknown],
  'a public key, to list': () => [visitor().auth.admin.listUsers(), notAdmin],
  'a public key, to make': () => [visitor().auth.admin.createUser({ email: address(), password }), notAdmin],
  'a user\'s token, to list': async () => [(await signedUp()).client.auth.admin.listUsers(), notAdmin],
  'a user\'s token as the header': async () => {
    const { session, user } = await signedUp()
    const headers = { Authorization: `Bearer ${session.access_token}` }
    return [withKey(process.env.ANON_KEY, { global: { headers } }).auth.admin.deleteUser(user.id), notAdmin]
  },
}

test('refusals of the admin interface', async (t) => {
  for (const [name, asked] of Object.entries(refusals)) {
    await t.test(name, async () => {
      const [call, expected] = await asked()
      const error = await bad(call)
      assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, error[key]])), expected)
    })
  }
})
