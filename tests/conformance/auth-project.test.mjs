// What a project builds on the accounts (auth_schema.sql), used through the client's own session.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { address, admin, bad, claimsOf, good, password, refused, signedIn, signedUp, visitor } from './auth-people.mjs'
import { anonymous, db, failure, fine, rows } from './clients.mjs'

const { SERVICE_ROLE_KEY } = process.env
const wishing = (wish, email = address()) => visitor().auth.signUp({ email, password, options: { data: { wish } } })
const failing = (message) => ({ name: 'AuthRetryableFetchError', status: 500, code: undefined, message })

test('two people write in one table and never see each other', async () => {
  const [ada, bob] = [await signedUp(), await signedUp()]
  const [hers, his] = [ada, bob].map(({ client }) => () => client.from('diaries'))
  const [first] = await rows(hers().insert({ entry: 'hers' }).select())
  await fine(his().insert([{ entry: 'his' }, { entry: 'his too' }]))

  assert.equal(first.owner, ada.user.id)
  assert.deepEqual(await rows(hers().select('entry')), [{ entry: 'hers' }])
  assert.deepEqual(await rows(his().select('entry').order('id')), [{ entry: 'his' }, { entry: 'his too' }])
  assert.deepEqual(await rows(his().update({ entry: 'mine now' }).eq('id', first.id).select()), [])
  assert.deepEqual(await rows(his().delete().eq('owner', ada.user.id).select()), [])
  const forged = await failure(his().insert({ entry: 'forged', owner: ada.user.id }))
  assert.deepEqual([forged.status, forged.code, forged.message], [403, '42501', 'new row violates row-level security policy for table "diaries"'])
  const moved = await failure(his().update({ owner: ada.user.id }).eq('entry', 'his'))
  assert.equal(moved.code, '42501')
  assert.deepEqual(await rows(anonymous.from('diaries').select()), [])
  assert.equal((await fine(db.from('diaries').select('*', { count: 'exact', head: true }).in('owner', [ada.user.id, bob.user.id]))).count, 3)
})

test('the session in the client decides who asks', async () => {
  const { client, email, user } = await signedUp()
  await fine(client.from('diaries').insert({ entry: 'before' }))
  const mine = () => rows(client.from('diaries').select('entry'))

  await good(client.auth.refreshSession())
  assert.deepEqual(await mine(), [{ entry: 'before' }])
  await client.auth.signOut()
  assert.deepEqual(await mine(), [])
  assert.equal((await failure(client.from('diaries').insert({ entry: 'nobody\'s' }))).code, '42501')
  await good(client.auth.signInAnonymously())
  assert.deepEqual(await mine(), [])
  await fine(client.from('diaries').insert({ entry: 'a visitor\'s' }))
  assert.deepEqual(await mine(), [{ entry: 'a visitor\'s' }])
  await good(client.auth.signInWithPassword({ email, password }))
  assert.deepEqual(await mine(), [{ entry: 'before' }])
  assert.equal((await rows(client.rpc('whoami'))).uid, user.id)
})

test('what a visitor wrote stays with the account that the visitor becomes', async () => {
  const client = visitor()
  const { user } = await good(client.auth.signInAnonymously())
  await fine(client.from('diaries').insert({ entry: 'found here' }))
  const email = address()

  await good(client.auth.updateUser({ email, password }))

  const { client: later } = await signedIn(email)
  assert.deepEqual(await rows(later.from('diaries').select('owner, entry')), [{ owner: user.id, entry: 'found here' }])
})

test('functions in the database know who asks', async () => {
  const { client, user, email, session } = await signedUp({ name: 'Ada' })

  assert.deepEqual(await rows(client.rpc('whoami')), {
    uid: user.id, role: 'authenticated', email, jwt: claimsOf(session.access_token), user: 'authenticated',
  })
  const nobody = await rows(visitor().rpc('whoami'))
  assert.deepEqual([nobody.uid, nobody.role, nobody.user], [null, 'anon', 'anon'])
  const { uid, role, jwt, user: runs } = await rows(db.rpc('whoami'))
  assert.deepEqual([uid, role, runs, jwt.role], [null, 'service_role', 'service_role', claimsOf(SERVICE_ROLE_KEY).role])
})

test('what a server says of a user reaches the policies with the next token', async () => {
  const { client, user } = await signedUp()
  const bulletins = () => rows(client.from('bulletins').select('words'))
  await good(admin.updateUserById(user.id, { app_metadata: { team: 'red' } }))

  assert.deepEqual(await bulletins(), [])
  await good(client.auth.refreshSession())
  assert.deepEqual(await bulletins(), [{ words: 'to the hill' }])
})

test('a token works in the data interface until it expires, also after signing out', async () => {
  const { client, session } = await signedUp()
  await client.auth.signOut()

  const { role } = await rows(visitor().rpc('whoami').setHeader('Authorization', `Bearer ${session.access_token}`))

  assert.equal(role, 'authenticated')
})

test('a trigger on sign-up makes the profile, for every way in', async () => {
  const handle = address('handle')
  const { client, user } = await signedUp({ handle })
  const { user: made } = await good(admin.createUser({ email: address(), user_metadata: { handle: `${handle}-2` } }))
  const { user: stray } = await good(visitor().auth.signInAnonymously())
  const profiles = () => client.from('profiles').select('handle').in('id', [user.id, made.id, stray.id]).order('handle')

  assert.deepEqual(await rows(profiles()), [{ handle }, { handle: `${handle}-2` }, { handle: null }])
  assert.deepEqual(await rows(client.from('profiles').update({ handle: `${handle}-3` }).in('id', [user.id, made.id]).select('id')), [{ id: user.id }])
  await good(admin.deleteUser(made.id))
  assert.equal((await rows(profiles())).length, 2)
})

test('a trigger changes the user before it is stored: the answer and the token say so', async () => {
  const { user, session } = await good(wishing('blue'))

  const team = { team: 'blue', provider: 'email', providers: ['email'] }
  assert.deepEqual([user.app_metadata, session.user.app_metadata, claimsOf(session.access_token).app_metadata], [team, team, team])
})

test('a trigger that raises refuses the sign-up in its own words, and nothing stays', async () => {
  const email = address()

  assert.deepEqual(await bad(wishing('raise', email)), failing('the valley is full'))
  assert.deepEqual(await bad(wishing('status', email)), refused(403, 'PT403', 'members only'))
  assert.deepEqual(await bad(admin.createUser({ email, user_metadata: { wish: 'status' } })), refused(403, 'PT403', 'members only'))
  assert.deepEqual(await bad(visitor().auth.signInAnonymously({ options: { data: { wish: 'raise' } } })), failing('the valley is full'))
  assert.deepEqual(await bad(visitor().auth.signInWithPassword({ email, password })),
    refused(400, 'invalid_credentials', 'Invalid login credentials'))
  assert.equal((await good(wishing('nothing', email))).user.email, email)
})

test('a constraint that the trigger meets refuses the sign-up in its own words', async () => {
  const handle = address('handle')
  await signedUp({ handle })
  const up = (data) => visitor().auth.signUp({ email: address(), password, options: { data } })

  assert.deepEqual(await bad(up({ handle })), failing('duplicate key value violates unique constraint "profiles_handle_key"'))
  assert.deepEqual(await bad(up({ handle: 'admin' })),
    failing('new row for relation "profiles" violates check constraint "profiles_handle_check"'))
})
