// More than one exposed schema, and the description of each.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { db, failure, fine, rows, withOptions } from './clients.mjs'

const warehouse = db.schema('warehouse')

test('another schema is read and written', async () => {
  assert.deepEqual(await rows(warehouse.from('stock').select('thing').order('thing')), [{ thing: 'rope' }, { thing: 'sand' }])
  assert.deepEqual(await rows(warehouse.from('stock').insert({ thing: 'nails', amount: 9 }).select('amount')), [{ amount: 9 }])
  const merged = await rows(warehouse.from('stock').upsert({ thing: 'nails', amount: 8 }, { onConflict: 'thing' }).select('amount'))
  assert.deepEqual(merged, [{ amount: 8 }])
  assert.deepEqual(await rows(warehouse.from('stock').update({ amount: 7 }).eq('thing', 'nails').select('amount').single()), { amount: 7 })
  assert.equal((await fine(warehouse.from('stock').delete({ count: 'exact' }).eq('thing', 'nails'))).count, 1)
  assert.equal((await fine(warehouse.from('stock').select('*', { head: true, count: 'exact' }))).count, 2)
})

test('functions of another schema', async () => {
  assert.equal(await rows(warehouse.rpc('amount_of', { wanted: 'rope' })), 5)
  assert.equal(await rows(warehouse.rpc('amount_of', { wanted: 'sand' }, { get: true })), 70)
})

test('the schema of a client', async () => {
  const there = withOptions({ db: { schema: 'warehouse' } })
  assert.equal((await rows(there.from('stock').select())).length, 2)
  assert.equal((await rows(there.schema('public').from('clients').select())).length, 2)
})

test('one schema does not see the other', async () => {
  const error = await failure(warehouse.from('clients').select())
  assert.deepEqual([error.status, error.code, error.message],
    [404, 'PGRST205', "Could not find the table 'warehouse.clients' in the schema cache"])
})

test('a schema that is not exposed is refused', async () => {
  for (const query of [db.schema('cellar').from('wine').select(), db.schema('cellar').from('wine').insert({ id: 1 })]) {
    assert.deepEqual(await failure(query), {
      status: 406, code: 'PGRST106', message: 'Invalid schema: cellar', details: null,
      hint: 'Only the following schemas are exposed: public, graphql_public, warehouse',
    })
  }
})

test('the description of each schema', async () => {
  const { data } = await fine(db.schema('public').getOpenApiSpec())
  assert.equal(data.swagger, '2.0')
  assert.ok(data.paths['/projects'].get && data.definitions.projects.properties.tags && data.paths['/rpc/add_them'].post)
  const there = await fine(warehouse.getOpenApiSpec())
  assert.deepEqual(Object.keys(there.data.definitions), ['stock'])
  const refused = await db.schema('cellar').getOpenApiSpec()
  assert.deepEqual([refused.status, refused.error.code, refused.error.message], [406, 'PGRST106', 'Invalid schema: cellar'])
})
