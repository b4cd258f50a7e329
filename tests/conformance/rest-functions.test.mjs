// rpc: by POST, GET and HEAD; every kind of argument and of result.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { db, failure, fine, rows, writing } from './clients.mjs'

const ways = [['POST', {}], ['GET', { get: true }]]

for (const [way, options] of ways) {
  const value = async (...given) => rows(db.rpc(...given, options))

  test(`arguments by ${way}`, async () => {
    assert.equal(await value('add_them', { a: 2, b: 3 }), 5)
    assert.equal(await value('total', { numbers: [1, 2, 39] }), 42)
    assert.equal(await value('total', { numbers: [] }), null)
    assert.equal(await value('joined', { words: ['a', 'b c', 'ü'] }), 'a|b c|ü')
    assert.equal(await value('greeting', { name: 'Ada & Bob?' }), 'hello Ada & Bob?')
    assert.equal(await value('greeting', { name: undefined }), 'hello world')
    assert.equal(await value('greeting', {}), 'hello world')
  })

  test(`results by ${way}`, async () => {
    assert.deepEqual(await value('split_in_two', { a: 7 }), { half: 3, rest: 4 })
    assert.deepEqual(await value('count_to', { n: 3 }), [1, 2, 3])
    assert.deepEqual(await value('squares', { n: 2 }), [{ root: 1, square: 1 }, { root: 2, square: 4 }])
    assert.equal((await value('project', { id: 1 })).name, 'Delta')
  })

  test(`rows of a function are selected, filtered, ordered and paged, by ${way}`, async () => {
    const call = (more) => db.rpc('projects_of', { client: 1 }, { ...options, ...more })
    assert.deepEqual(await rows(call().select('name').order('name', { ascending: false })), [{ name: 'Source' }, { name: 'Delta' }])
    assert.deepEqual(await rows(call().select('name').lt('budget', 50)), [{ name: 'Source' }])
    assert.deepEqual(await rows(call().select('name').or('name.eq.Delta,name.eq.Falls')), [{ name: 'Delta' }])
    assert.deepEqual(await rows(call().select('name').order('name').limit(1)), [{ name: 'Delta' }])
    assert.deepEqual(await rows(call().select('name').order('name').range(1, 5)), [{ name: 'Source' }])
    assert.deepEqual(await rows(call().select('name').eq('id', 2).single()), { name: 'Source' })
    assert.equal(await rows(call().eq('id', 4).maybeSingle()), null)
    assert.equal(await rows(call().select('id, name').order('id').csv()), 'id,name\n1,Delta\n2,Source')
    const counted = await fine(call({ count: 'exact' }).select('name').order('name').limit(1))
    assert.deepEqual([counted.count, counted.data], [2, [{ name: 'Delta' }]])
  })

  test(`rows of a function have related rows, by ${way}`, async () => {
    const query = db.rpc('projects_of', { client: 2 }, options).select('name, clients(name), tasks(title)')
    assert.deepEqual(await rows(query), [{ name: 'Falls', clients: { name: 'Rhine' }, tasks: [{ title: 'measure' }] }])
  })
}

test('a variadic function, and one of a JSON argument', async () => {
  assert.equal(await rows(db.rpc('largest', { numbers: [3, 9, 4] })), 9)
  assert.deepEqual(await rows(db.rpc('member', { document: { a: { b: [1, null] } }, key: 'a' })), { b: [1, null] })
})

test('HEAD gives the count alone', async () => {
  const answer = await fine(db.rpc('projects_of', { client: 1 }, { head: true, count: 'exact' }))
  assert.deepEqual([answer.count, answer.data, answer.status], [2, null, 200])
  const filtered = await fine(db.rpc('projects_of', { client: 1 }, { head: true, count: 'exact' }).eq('name', 'Delta'))
  assert.equal(filtered.count, 1)
  const estimated = await fine(db.rpc('squares', { n: 5 }, { head: true, count: 'estimated' }))
  assert.equal(estimated.count, 5)
  const plain = await fine(db.rpc('add_them', { a: 1, b: 1 }, { head: true }))
  assert.deepEqual([plain.count, plain.data], [null, null])
})

test('HEAD with an argument that no URL can carry goes by POST', async () => {
  const answer = await fine(db.rpc('member', { document: { a: 1 }, key: 'a' }, { head: true, count: 'exact' }))
  assert.equal(answer.count, 1)
})

writing('a function without a result', async () => {
  const answer = await fine(db.rpc('add_parcel', { parcel: 'from a function' }))
  assert.deepEqual([answer.data, answer.status], [null, 204])
  assert.deepEqual(await rows(db.from('parcels').select('name')), [{ name: 'from a function' }])
})

test('a function that writes is refused by GET and HEAD', async () => {
  const error = await failure(db.rpc('add_parcel', { parcel: 'x' }, { get: true }))
  assert.deepEqual([error.status, error.code], [405, '25006'])
  assert.equal((await db.rpc('add_parcel', { parcel: 'x' }, { head: true })).status, 405)
})

writing('maxAffected holds for functions that give rows', async () => {
  await fine(db.from('parcels').insert([{ name: 'max 1' }, { name: 'max 2' }]))
  const error = await failure(db.rpc('take_parcels', { pattern: 'max%' }).maxAffected(1))
  assert.deepEqual([error.status, error.code, error.details], [400, 'PGRST124', 'The query affects 2 rows'])
  const taken = await fine(db.rpc('take_parcels', { pattern: 'max%' }, { count: 'exact' }).select('name').order('name').maxAffected(2))
  assert.deepEqual([taken.data, taken.count], [[{ name: 'max 1' }, { name: 'max 2' }], 2])
  const single = await failure(db.rpc('add_them', { a: 1, b: 2 }).maxAffected(1))
  assert.deepEqual([single.status, single.code], [400, 'PGRST128'])
})
