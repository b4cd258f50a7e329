// insert, upsert, update and delete with all their options.
import assert from 'node:assert/strict'
import { db, failure, fine, rows, writing } from './clients.mjs'

const parcels = () => db.from('parcels')
const all = (columns) => rows(parcels().select(columns).order('name'))

writing('insert one, with and without the row back', async () => {
  const quiet = await fine(parcels().insert({ name: 'a' }))
  assert.deepEqual([quiet.status, quiet.statusText, quiet.data, quiet.count], [201, 'Created', null, null])
  const loud = await fine(parcels().insert({ name: 'b', weight: 3 }).select('name, state, weight').single())
  assert.deepEqual([loud.data, loud.status], [{ name: 'b', state: 'new', weight: 3 }, 201])
  const related = await rows(parcels().insert({ name: 'c', client_id: 2 }).select('name, clients(name)'))
  assert.deepEqual(related, [{ name: 'c', clients: { name: 'Rhine' } }])
})

writing('insert many, of different members', async () => {
  const given = [{ name: 'a', weight: 2 }, { name: 'b', client_id: 1, weight: 1 }]
  assert.deepEqual(await rows(parcels().insert(given).select('name, client_id, state')), [
    { name: 'a', client_id: null, state: 'new' }, { name: 'b', client_id: 1, state: 'new' },
  ])
})

writing('members left out become null, or with defaultToNull false their default', async () => {
  const mixed = [{ name: 'a', state: 'old', weight: 5 }, { name: 'b', weight: 1 }]
  assert.deepEqual(await rows(parcels().insert(mixed).select('state')), [{ state: 'old' }, { state: null }])
  await fine(parcels().delete().gte('id', 0))
  const added = await rows(parcels().insert(mixed, { defaultToNull: false }).select('state'))
  assert.deepEqual(added, [{ state: 'old' }, { state: 'new' }])
  const refused = await failure(parcels().insert([{ name: 'c', weight: 1 }, { name: 'd' }]))
  assert.deepEqual([refused.status, refused.code], [400, '23502'])
})

writing('insert counts what it wrote', async () => {
  const answer = await fine(parcels().insert([{ name: 'a' }, { name: 'b' }], { count: 'exact' }))
  assert.deepEqual([answer.count, answer.data], [2, null])
  const shown = await fine(parcels().insert([{ name: 'c' }], { count: 'exact' }).select('name'))
  assert.deepEqual([shown.count, shown.data], [1, [{ name: 'c' }]])
})

writing('insert of nothing and of nothing but defaults', async () => {
  assert.deepEqual(await rows(parcels().insert([]).select()), [])
  assert.deepEqual(await rows(parcels().insert({}).select('name, weight')), [{ name: null, weight: 1 }])
})

writing('insert of five thousand rows, and all of them counted', async () => {
  const many = Array.from({ length: 5000 }, (_, i) => ({ station: 'many', hour: i, level: i % 7 }))
  assert.equal((await fine(db.from('readings').insert(many, { count: 'exact' }))).count, 5000)
  assert.equal((await fine(db.from('readings').select('*', { count: 'exact', head: true }))).count, 5000)
})

writing('numbers beyond 53 bits go in whole', async () => {
  await fine(parcels().insert({ id: 9007199254740993n, name: 'big' }))
  assert.deepEqual(await rows(parcels().select('id::text').eq('id', '9007199254740993')), [{ id: '9007199254740993' }])
})

writing('upsert by primary key merges', async () => {
  const reading = { station: 'a', hour: 1 }
  const first = await fine(db.from('readings').upsert({ ...reading, level: 4 }).select())
  const second = await fine(db.from('readings').upsert({ ...reading, level: 5 }).select())
  assert.deepEqual([first.status, second.status], [201, 200])
  assert.deepEqual(second.data, [{ ...reading, level: 5 }])
})

writing('upsert on another column', async () => {
  await fine(parcels().insert({ name: 'a', state: 'old', weight: 7 }))
  const given = [{ name: 'a', weight: 8 }, { name: 'b', weight: 9 }]
  const merged = await rows(parcels().upsert(given, { onConflict: 'name' }).select('name, state, weight'))
  assert.deepEqual(merged, [{ name: 'a', state: 'old', weight: 8 }, { name: 'b', state: 'new', weight: 9 }])
})

writing('upsert ignores duplicates', async () => {
  await fine(parcels().insert({ name: 'a', weight: 1 }))
  const options = { onConflict: 'name', ignoreDuplicates: true, count: 'exact' }
  const added = await fine(parcels().upsert([{ name: 'a', weight: 2 }, { name: 'b', weight: 2 }], options).select('name'))
  assert.deepEqual([added.data, added.count, added.status], [[{ name: 'b' }], 1, 201])
  assert.deepEqual(await all('name, weight'), [{ name: 'a', weight: 1 }, { name: 'b', weight: 2 }])
  const twice = [{ station: 'a', hour: 1 }, { station: 'a', hour: 1 }]
  const kept = await rows(db.from('readings').upsert(twice, { ignoreDuplicates: true }).select())
  assert.deepEqual(kept, [{ station: 'a', hour: 1, level: null }])
})

writing('upsert with defaults and a count', async () => {
  const given = [{ name: 'a', state: 'old' }, { name: 'b' }]
  const answer = await fine(parcels().upsert(given, { onConflict: 'name', defaultToNull: false, count: 'exact' }))
  assert.deepEqual([answer.count, answer.status, answer.data], [2, 201, null])
  assert.deepEqual(await all('state'), [{ state: 'old' }, { state: 'new' }])
  await fine(parcels().upsert(given, { onConflict: 'name' }))
  assert.deepEqual(await all('state'), [{ state: 'old' }, { state: null }])
})

writing('update changes what the filters name', async () => {
  await fine(parcels().insert([{ name: 'a' }, { name: 'b' }, { name: 'c' }]))
  const quiet = await fine(parcels().update({ weight: 2 }).in('name', ['a', 'b']))
  assert.deepEqual([quiet.status, quiet.data, quiet.count], [204, null, null])
  const query = parcels().update({ state: 'sent' }).eq('weight', 2).select('name, clients(name)')
  const loud = await fine(query.order('name', { ascending: false }))
  assert.deepEqual([loud.status, loud.data], [200, [{ name: 'b', clients: null }, { name: 'a', clients: null }]])
  const counted = await fine(parcels().update({ state: null }, { count: 'exact' }).eq('weight', 2))
  assert.deepEqual([counted.count, counted.data], [2, null])
  const none = await fine(parcels().update({ weight: 3 }, { count: 'exact' }).eq('name', 'z').select())
  assert.deepEqual([none.count, none.data, none.status], [0, [], 200])
})

writing('update of exactly one row', async () => {
  await fine(parcels().insert([{ name: 'a' }, { name: 'b' }]))
  assert.deepEqual(await rows(parcels().update({ weight: 9 }).eq('name', 'a').select('weight').single()), { weight: 9 })
  const error = await failure(parcels().update({ weight: 5 }).lte('name', 'b').select().single())
  assert.deepEqual([error.status, error.code], [406, 'PGRST116'])
  assert.deepEqual(await all('weight'), [{ weight: 9 }, { weight: 1 }])
  assert.deepEqual(await rows(parcels().update({ weight: 5 }).eq('name', 'z').select().maybeSingle()), null)
})

writing('delete takes what the filters name', async () => {
  await fine(parcels().insert([{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }]))
  const quiet = await fine(parcels().delete().eq('name', 'a'))
  assert.deepEqual([quiet.status, quiet.data], [204, null])
  const loud = await fine(parcels().delete({ count: 'exact' }).in('name', ['b', 'c']).select('name').order('name'))
  assert.deepEqual([loud.count, loud.data, loud.status], [2, [{ name: 'b' }, { name: 'c' }], 200])
  const counted = await fine(parcels().delete({ count: 'exact' }).eq('name', 'd'))
  assert.deepEqual([counted.count, counted.data], [1, null])
})

writing('maxAffected stops a write that goes further, and undoes it', async () => {
  await fine(parcels().insert([{ name: 'a' }, { name: 'b' }]))
  for (const query of [parcels().update({ weight: 4 }), parcels().delete()]) {
    const error = await failure(query.gte('id', 0).maxAffected(1))
    assert.deepEqual([error.status, error.code, error.details], [400, 'PGRST124', 'The query affects 2 rows'])
  }
  assert.deepEqual(await all('weight'), [{ weight: 1 }, { weight: 1 }])
  assert.equal((await fine(parcels().update({ weight: 4 }, { count: 'exact' }).gte('id', 0).maxAffected(2))).count, 2)
  assert.equal((await rows(parcels().delete().gte('id', 0).select().maxAffected(2))).length, 2)
})
