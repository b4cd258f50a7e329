// What an answer looks like: one object, CSV, GeoJSON, without nulls, a plan; rows undone; types that only the compiler sees.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { db, failure, fine, rows, writing } from './clients.mjs'

const project = (id, columns) => db.from('projects').select(columns).eq('id', id)

test('single gives one object or an error', async () => {
  assert.deepEqual(await rows(project(1, 'name').single()), { name: 'Delta' })
  assert.deepEqual(await failure(project(-1).single()), {
    status: 406, code: 'PGRST116', message: 'Cannot coerce the result to a single JSON object', hint: null,
    details: 'The result contains 0 rows',
  })
  const many = await failure(db.from('projects').select().lte('id', 3).single())
  assert.deepEqual([many.code, many.details], ['PGRST116', 'The result contains 3 rows'])
})

test('maybeSingle gives one object, null or an error', async () => {
  assert.deepEqual(await rows(project(1, 'name').maybeSingle()), { name: 'Delta' })
  const none = await fine(project(-1).maybeSingle())
  assert.deepEqual([none.data, none.status], [null, 200])
  const many = await failure(db.from('projects').select().lte('id', 2).maybeSingle())
  assert.deepEqual([many.code, many.status], ['PGRST116', 406])
})

writing('CSV of rows, quoted as Postgres does, and of written rows', async () => {
  const { data } = await fine(db.from('odd things').select('"the key",text:"a,b(c)"').order('the key').csv())
  assert.equal(data, 'the key,text\n1,"one, (1)"\n2,two')
  const written = await fine(db.from('readings').insert({ station: 'csv', hour: 1 }).select().csv())
  assert.equal(written.data, 'station,hour,level\ncsv,1,')
})

test('GeoJSON, where the table has a handler for it', async () => {
  const { data } = await fine(db.from('places').select().eq('id', 1).geojson())
  assert.deepEqual(data, {
    type: 'FeatureCollection',
    features: [{ type: 'Feature', properties: { name: 'Cairo' }, geometry: { type: 'Point', coordinates: [31, 30] } }],
  })
})

test('stripNulls leaves members out, of rows, of one object and at all depths', async () => {
  assert.deepEqual(await rows(project(3, 'name, budget, clients(name)').stripNulls()), [{ name: 'Falls', clients: { name: 'Rhine' } }])
  assert.deepEqual(await rows(project(3, 'name, budget').stripNulls().single()), { name: 'Falls' })
  assert.deepEqual(await rows(project(4, 'name, clients(name)').stripNulls().maybeSingle()), { name: 'Lock' })
  assert.deepEqual(await rows(db.rpc('projects_of', { client: 2 }).select('name, budget').stripNulls()), [{ name: 'Falls' }])
  assert.throws(() => project(3).csv().stripNulls(), /cannot be used with csv/)
})

test('a plan as text and as JSON', async () => {
  const text = await rows(project(1).explain())
  assert.match(text, /^Aggregate .*cost=[\s\S]*projects/)
  const [json] = await rows(project(1).explain({ format: 'json' }))
  assert.equal(json.Plan['Node Type'], 'Aggregate')
  const one = await rows(project(1).single().explain())
  assert.match(one, /^Aggregate/)
})

test('a plan with every option', async () => {
  const all = { analyze: true, verbose: true, settings: true, buffers: true, wal: true }
  const text = await rows(project(1, 'name').explain({ ...all, format: 'text' }))
  assert.match(text, /actual time=/)
  assert.match(text, /Output: /)
  assert.match(text, /Execution Time:/)
  const [json] = await rows(project(1, 'name').explain({ ...all, format: 'json' }))
  assert.ok(json.Plan['Actual Rows'] >= 1)
  for (const member of ['Output', 'WAL Records', 'Shared Hit Blocks']) assert.ok(member in json.Plan, member)
  const [plain] = await rows(project(1, 'name').explain({ analyze: false, verbose: true, format: 'json' }))
  assert.deepEqual(['Output' in plain.Plan, 'Actual Rows' in plain.Plan], [true, false])
})

test('a plan of a write, and of a function; analysed, and undone', async () => {
  const text = await rows(db.from('clients').update({ name: 'Po' }).eq('id', 1).select().rollback().explain({ analyze: true }))
  assert.match(text, /Update on (public\.)?clients/)
  assert.deepEqual(await rows(db.from('clients').select('name').eq('id', 1)), [{ name: 'Nile' }])
  assert.match(await rows(db.rpc('projects_of', { client: 1 }).explain()), /projects/)
})

test('rollback answers and undoes', async () => {
  const added = await fine(db.from('parcels').insert({ name: 'undone' }).select('name').rollback())
  assert.deepEqual([added.data, added.status], [[{ name: 'undone' }], 201])
  const changed = await rows(db.from('projects').update({ budget: 0 }).eq('id', 1).select('budget').rollback())
  assert.deepEqual(changed, [{ budget: 0 }])
  assert.equal((await rows(db.from('projects').delete().eq('id', 1).select('id').rollback())).length, 1)
  await fine(db.rpc('add_parcel', { parcel: 'undone' }).rollback())
  assert.deepEqual(await rows(db.from('parcels').select().eq('name', 'undone')), [])
  assert.deepEqual(await rows(project(1, 'budget')), [{ budget: 100.5 }])
})

test('rollback still tells what the database refuses', async () => {
  const error = await failure(db.from('parcels').insert({ client_id: 77 }).rollback())
  assert.deepEqual([error.status, error.code], [409, '23503'])
})

test('returns and overrideTypes change nothing at run time', async () => {
  assert.deepEqual(await rows(project(1, 'name').returns()), [{ name: 'Delta' }])
  assert.deepEqual(await rows(project(1, 'name').single().overrideTypes()), { name: 'Delta' })
})
