// supabase-js against the REST interface. Environment: API_URL, ANON_KEY, SERVICE_ROLE_KEY, TOKEN_ADA, TOKEN_BOB.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '@supabase/supabase-js'
import WebSocket from 'ws'

const { API_URL, ANON_KEY, SERVICE_ROLE_KEY, TOKEN_ADA, TOKEN_BOB } = process.env
// Node 20 has no WebSocket of its own; the client wants one at hand.
const options = { auth: { persistSession: false, autoRefreshToken: false }, realtime: { transport: WebSocket } }
const db = createClient(API_URL, SERVICE_ROLE_KEY, options)
const as = (token) => createClient(API_URL, ANON_KEY, { ...options, accessToken: async () => token })

const fine = async (query) => {
  const answer = await query
  assert.equal(answer.error, null, JSON.stringify(answer.error))
  return answer
}

test('select takes columns, filters, order and range', async () => {
  const { data } = await fine(
    db.from('projects').select('id, title:name').gte('id', 1).lte('id', 4).order('name').range(1, 2),
  )
  assert.deepEqual(data, [{ id: 3, title: 'Falls' }, { id: 4, title: 'Lock' }])
})

test('every comparison filters', async () => {
  const names = async (query) => (await fine(query.lte('id', 4).order('id'))).data.map((row) => row.name)
  const all = () => db.from('projects').select('name')
  assert.deepEqual(await names(all().eq('name', 'Delta')), ['Delta'])
  assert.deepEqual(await names(all().neq('name', 'Delta')), ['Source', 'Falls', 'Lock'])
  assert.deepEqual(await names(all().gt('budget', 20)), ['Delta'])
  assert.deepEqual(await names(all().is('budget', null)), ['Falls'])
  assert.deepEqual(await names(all().in('name', ['Falls', 'a,b"c'])), ['Falls'])
  assert.deepEqual(await names(all().like('name', '%l%')), ['Delta', 'Falls'])
  assert.deepEqual(await names(all().ilike('name', 'l%')), ['Lock'])
  assert.deepEqual(await names(all().contains('tags', ['water'])), ['Delta', 'Falls'])
  assert.deepEqual(await names(all().overlaps('tags', ['mud', 'sand'])), ['Delta'])
  assert.deepEqual(await names(all().contains('meta', { depth: { m: 1 } })), ['Source'])
  assert.deepEqual(await names(all().not('client_id', 'is', null)), ['Delta', 'Source', 'Falls'])
  assert.deepEqual(await names(all().or('name.eq.Lock,and(client_id.eq.1,budget.lt.50)')), ['Source', 'Lock'])
  assert.deepEqual(await names(all().match({ client_id: 1, name: 'Source' })), ['Source'])
  assert.deepEqual(await names(all().eq('meta->depth->m', 12)), ['Delta'])
  assert.deepEqual(await names(all().likeAnyOf('name', ['D%', 'S%'])), ['Delta', 'Source'])
  assert.deepEqual(await names(all().textSearch('name', 'delta')), ['Delta'])
})

test('related rows are embedded both ways, filtered and ordered', async () => {
  const { data } = await fine(
    db.from('projects').select('name, clients(name), tasks(title)').lte('id', 3).order('id')
      .order('title', { referencedTable: 'tasks' }),
  )
  assert.deepEqual(data[0], { name: 'Delta', clients: { name: 'Nile' }, tasks: [{ title: 'dredge' }, { title: 'survey' }] })
  assert.deepEqual(data[1].tasks, [])
  const inner = await fine(db.from('clients').select('name, projects!inner(name)').eq('projects.name', 'Falls'))
  assert.deepEqual(inner.data, [{ name: 'Rhine', projects: [{ name: 'Falls' }] }])
  const spread = await fine(db.from('projects').select('name, ...clients(client:name)').eq('id', 1).single())
  assert.deepEqual(spread.data, { name: 'Delta', client: 'Nile' })
})

test('single and maybeSingle', async () => {
  assert.equal((await fine(db.from('projects').select().eq('id', 1).single())).data.name, 'Delta')
  const none = await db.from('projects').select().eq('id', -1).single()
  assert.equal(none.error.code, 'PGRST116')
  assert.equal(none.status, 406)
  assert.equal((await fine(db.from('projects').select().eq('id', -1).maybeSingle())).data, null)
  const many = await db.from('projects').select().lte('id', 2).maybeSingle()
  assert.equal(many.error.code, 'PGRST116')
})

test('counts of all kinds, with and without rows', async () => {
  const exact = await fine(db.from('projects').select('*', { count: 'exact' }).lte('id', 4).limit(1))
  assert.equal(exact.count, 4)
  assert.equal(exact.data.length, 1)
  const head = await fine(db.from('projects').select('*', { count: 'exact', head: true }).lte('id', 4))
  assert.equal(head.count, 4)
  assert.equal(head.data, null)
  for (const count of ['planned', 'estimated']) {
    assert.equal(typeof (await fine(db.from('projects').select('*', { count }))).count, 'number')
  }
})

test('insert one and many, with and without the rows back', async () => {
  const one = await fine(db.from('projects').insert({ name: 'js one', tags: ['a'] }).select('name, tags').single())
  assert.deepEqual(one.data, { name: 'js one', tags: ['a'] })
  const quiet = await fine(db.from('projects').insert({ name: 'js two' }))
  assert.equal(quiet.status, 201)
  assert.equal(quiet.data, null)
  const many = await fine(
    db.from('projects').insert([{ name: 'js three' }, { name: 'js four', budget: 3 }]).select('name, budget'),
  )
  assert.equal(many.data.length, 2)
  const twice = await db.from('projects').insert({ name: 'js one' })
  assert.equal(twice.status, 409)
  assert.equal(twice.error.code, '23505')
  await fine(db.from('projects').delete().like('name', 'js %'))
})

test('update, upsert and delete', async () => {
  await fine(db.from('projects').insert({ name: 'js change', budget: 1 }))
  const changed = await fine(db.from('projects').update({ budget: 2 }).eq('name', 'js change').select().single())
  assert.equal(changed.data.budget, 2)
  const merged = await fine(
    db.from('projects').upsert({ name: 'js change', budget: 3 }, { onConflict: 'name' }).select('budget').single(),
  )
  assert.equal(merged.data.budget, 3)
  const ignored = await fine(
    db.from('projects').upsert({ name: 'js change', budget: 4 }, { onConflict: 'name', ignoreDuplicates: true }).select(),
  )
  assert.deepEqual(ignored.data, [])
  const gone = await fine(db.from('projects').delete({ count: 'exact' }).eq('name', 'js change').select('name'))
  assert.deepEqual(gone.data, [{ name: 'js change' }])
  assert.equal(gone.count, 1)
})

test('functions are called by POST, GET and HEAD', async () => {
  assert.equal((await fine(db.rpc('add_them', { a: 2, b: 3 }))).data, 5)
  assert.equal((await fine(db.rpc('add_them', { a: 2, b: 3 }, { get: true }))).data, 5)
  const rows = await fine(db.rpc('projects_of', { client: 1 }, { count: 'exact' }).select('name').order('name').limit(1))
  assert.deepEqual(rows.data, [{ name: 'Delta' }])
  assert.equal(rows.count, 2)
  const missing = await db.rpc('no_such_function')
  assert.equal(missing.error.code, 'PGRST202')
  assert.equal(missing.status, 404)
})

test('CSV and errors of the database come through', async () => {
  const csv = await fine(db.from('clients').select().order('id').csv())
  assert.equal(csv.data, 'id,name\n1,Nile\n2,Rhine')
  const wrong = await db.from('projects').select('nope')
  assert.equal(wrong.error.code, '42703')
  const table = await db.from('no_such_table').select()
  assert.equal(table.error.code, 'PGRST205')
  assert.equal(table.status, 404)
})

test('row level security keeps two people apart', async () => {
  const [ada, bob] = [as(TOKEN_ADA), as(TOKEN_BOB)]
  await fine(ada.from('secrets').insert({ owner: 'ada', body: 'hers' }))
  assert.deepEqual((await fine(ada.from('secrets').select('body'))).data, [{ body: 'hers' }])
  assert.deepEqual((await fine(bob.from('secrets').select('body'))).data, [])
  const forged = await bob.from('secrets').insert({ owner: 'ada', body: 'forged' })
  assert.equal(forged.status, 403)
  assert.equal(forged.error.code, '42501')
  const anonymous = createClient(API_URL, ANON_KEY, options)
  assert.deepEqual((await fine(anonymous.from('secrets').select())).data, [])
  await fine(ada.from('secrets').delete().eq('owner', 'ada'))
})

test('an expired and a foreign token are refused', async () => {
  const foreign = await as(`${TOKEN_ADA}x`).from('clients').select()
  assert.equal(foreign.status, 401)
  assert.equal(foreign.error.code, 'PGRST301')
})
