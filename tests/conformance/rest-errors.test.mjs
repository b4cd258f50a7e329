// Refusals as the client shows them: status, code, message, details and hint.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anonymous, as, db, failure, fine, rows, writing } from './clients.mjs'

const { TOKEN_ADA, TOKEN_BOB, TOKEN_EXPIRED } = process.env
const parcels = () => db.from('parcels')

const refusals = {
  'an unknown table': [() => db.from('project').select(), {
    status: 404, code: 'PGRST205', message: "Could not find the table 'public.project' in the schema cache", details: null,
    hint: "Perhaps you meant the table 'public.projects'",
  }],
  'an unknown column to read': [() => db.from('projects').select('wavelength'), {
    status: 400, code: '42703', message: 'column projects.wavelength does not exist', details: null, hint: null,
  }],
  'an unknown column to write': [() => db.from('projects').insert({ nope: 1 }), {
    status: 400, code: 'PGRST204', message: "Could not find the 'nope' column of 'projects' in the schema cache", details: null, hint: null,
  }],
  'an unknown operator': [() => db.from('projects').select().filter('id', 'near', 1), {
    status: 400, code: 'PGRST100', message: '"failed to parse filter (near.1)" (line 1, column 1)',
    details: 'unexpected "n" expecting "not" or operator (eq, gt, ...)', hint: null,
  }],
  'a value of another type': [() => db.from('projects').select().eq('id', 'abc'), {
    status: 400, code: '22P02', message: 'invalid input syntax for type bigint: "abc"', details: null, hint: null,
  }],
  'no relationship': [() => db.from('projects').select('*, task(*)'), {
    status: 400, code: 'PGRST200', message: "Could not find a relationship between 'projects' and 'task' in the schema cache",
    details: "Searched for a foreign key relationship between 'projects' and 'task' in the schema 'public', but no matches were found.",
    hint: "Perhaps you meant 'tasks' instead of 'task'.",
  }],
  'several relationships': [() => db.from('trips').select('*, clients(*)'), {
    status: 300, code: 'PGRST201', message: "Could not embed because more than one relationship was found for 'trips' and 'clients'",
    details: [
      { cardinality: 'many-to-one', embedding: 'trips with clients', relationship: 'trips_goal_fkey using trips(goal) and clients(id)' },
      { cardinality: 'many-to-one', embedding: 'trips with clients', relationship: 'trips_origin_fkey using trips(origin) and clients(id)' },
    ],
    hint: "Try changing 'clients' to one of the following: 'clients!trips_goal_fkey', 'clients!trips_origin_fkey'. " +
      "Find the desired relationship in the 'details' key.",
  }],
  'a filter on what is not embedded': [() => db.from('projects').select('name').eq('tasks.title', 'x'), {
    status: 400, code: 'PGRST108', message: "'tasks' is not an embedded resource in this request", details: null,
    hint: "Verify that 'tasks' is included in the 'select' query parameter.",
  }],
  'a page past the end': [() => db.from('clients').select('*', { count: 'exact' }).range(5, 9), {
    status: 416, code: 'PGRST103', message: 'Requested range not satisfiable', hint: null,
    details: 'An offset of 5 was requested, but there are only 2 rows.',
  }],
  'GeoJSON of a table without a handler': [() => db.from('projects').select().geojson(), {
    status: 406, code: 'PGRST107', message: 'None of these media types are available: application/geo+json', details: null, hint: null,
  }],
  'an unknown function': [() => db.rpc('add_then', { a: 1 }), {
    status: 404, code: 'PGRST202', message: 'Could not find the function public.add_then(a) in the schema cache',
    details: 'Searched for the function public.add_then with parameter a or with a single unnamed json/jsonb parameter, ' +
      'but no matches were found in the schema cache.',
    hint: 'Perhaps you meant to call the function public.add_them',
  }],
  'other arguments': [() => db.rpc('add_them', { a: 1, c: 2 }, { get: true }), {
    status: 404, code: 'PGRST202', message: 'Could not find the function public.add_them(a, c) in the schema cache',
    details: 'Searched for the function public.add_them with parameters a, c, but no matches were found in the schema cache.',
    hint: 'Perhaps you meant to call the function public.add_them(a, b)',
  }],
  'several functions': [() => db.rpc('twice', { a: 1 }), {
    status: 300, code: 'PGRST203', details: null,
    message: 'Could not choose the best candidate function between: public.twice(a => integer), public.twice(a => text)',
    hint: 'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
  }],
  'an error raised in a function': [() => db.rpc('fail_with', { kind: 'raise' }), {
    status: 400, code: 'P0001', message: 'no more water', details: 'level is 0', hint: 'wait for rain',
  }],
  'a status raised in a function': [() => db.rpc('fail_with', { kind: 'status' }), {
    status: 402, code: 'PT402', message: 'pay first', details: 'ten coins', hint: 'at the gate',
  }],
  'an answer raised in a function': [() => db.rpc('fail_with', { kind: 'full' }), {
    status: 418, code: 'W42', message: 'teapot', details: 'short', hint: 'stout',
  }],
  'a parent that is not there': [() => parcels().insert({ client_id: 77 }), {
    status: 409, code: '23503', message: 'insert or update on table "parcels" violates foreign key constraint "parcels_client_id_fkey"',
    details: 'Key (client_id)=(77) is not present in table "clients".', hint: null,
  }],
  'null where none may be': [() => parcels().update({ weight: null }).gte('id', 0).select(), {
    status: 400, code: '23502', message: 'null value in column "weight" of relation "parcels" violates not-null constraint',
    details: /^Failing row contains \(\d+, kept, /, hint: null,
  }],
  'a check': [() => parcels().insert({ name: '' }), {
    status: 400, code: '23514', message: 'new row for relation "parcels" violates check constraint "parcels_name_check"',
    details: /^Failing row contains/, hint: null,
  }],
  'the same key twice': [() => parcels().insert({ name: 'kept' }), {
    status: 409, code: '23505', message: 'duplicate key value violates unique constraint "parcels_name_key"',
    details: 'Key (name)=(kept) already exists.', hint: null,
  }],
  'a conflict target without a unique constraint': [() => parcels().upsert({ name: 'kept' }, { onConflict: 'state' }), {
    status: 400, code: '42P10', details: null, hint: null,
    message: 'there is no unique or exclusion constraint matching the ON CONFLICT specification',
  }],
  'one row changed twice': [() => parcels().upsert([{ name: 'two' }, { name: 'two' }], { onConflict: 'name' }), {
    status: 500, code: '21000', message: 'ON CONFLICT DO UPDATE command cannot affect row a second time', details: null,
    hint: 'Ensure that no rows proposed for insertion within the same command have duplicate constrained values.',
  }],
  'a table that the role may not read': [() => anonymous.from('hidden').select(), {
    status: 401, code: '42501', message: 'permission denied for table hidden', details: null, hint: null,
  }],
  'a row that the policy refuses': [() => as(TOKEN_BOB).from('secrets').insert({ owner: 'ada', body: 'forged' }), {
    status: 403, code: '42501', message: 'new row violates row-level security policy for table "secrets"', details: null, hint: null,
  }],
  'an expired token': [() => as(TOKEN_EXPIRED).from('clients').select(), {
    status: 401, code: 'PGRST303', message: 'JWT expired', details: null, hint: null,
  }],
  'a foreign token': [() => as(`${TOKEN_ADA}x`).from('clients').select(), {
    status: 401, code: 'PGRST301', message: 'No suitable key or wrong key type', hint: null,
    details: 'None of the keys was able to decode the JWT',
  }],
}

writing('refusals', async (t) => {
  await fine(parcels().insert({ name: 'kept' }))
  for (const [name, [query, { details, ...expected }]] of Object.entries(refusals)) {
    await t.test(name, async () => {
      const { details: found, ...error } = await failure(query())
      assert.deepEqual(error, expected)
      if (details instanceof RegExp) assert.match(found, details)
      else assert.deepEqual(found, details)
    })
  }
})

test('a refusal without a body, to HEAD', async () => {
  const column = await db.from('projects').select('nope', { head: true })
  assert.deepEqual([column.status, column.data, column.error], [400, null, { message: '' }])
  // The client takes a 404 without a body for an empty answer.
  const table = await db.from('project').select('*', { head: true })
  assert.deepEqual([table.status, table.data, table.error], [204, null, null])
  const function_ = await db.rpc('add_them', { a: 'x', b: 1 }, { head: true })
  assert.equal(function_.status, 400)
})

test('the reason of a status raised in a function is its message', async () => {
  const { statusText } = await db.rpc('fail_with', { kind: 'status' })
  assert.equal(statusText, 'pay first')
})

test('throwOnError throws the same error', async () => {
  const thrown = await db.from('project').select().throwOnError().then(() => null, (error) => error)
  assert.equal(thrown.name, 'PostgrestError')
  assert.deepEqual(thrown.toJSON(), {
    name: 'PostgrestError', code: 'PGRST205', message: "Could not find the table 'public.project' in the schema cache", details: null,
    hint: "Perhaps you meant the table 'public.projects'",
  })
  await assert.rejects(async () => db.from('projects').select().throwOnError().lte('id', 2).maybeSingle(), { code: 'PGRST116' })
  await assert.rejects(async () => parcels().insert({ name: '' }).throwOnError(), { code: '23514' })
  assert.deepEqual((await db.from('clients').select('id').throwOnError().eq('id', 1).single()).data, { id: 1 })
})

test('row level security keeps two people apart', async () => {
  const [ada, bob] = [as(TOKEN_ADA), as(TOKEN_BOB)]
  await fine(ada.from('secrets').insert({ owner: 'ada', body: 'hers' }))
  assert.deepEqual(await rows(ada.from('secrets').select('body')), [{ body: 'hers' }])
  assert.deepEqual(await rows(bob.from('secrets').select('body')), [])
  assert.deepEqual(await rows(bob.from('secrets').update({ body: 'his' }).eq('owner', 'ada').select()), [])
  assert.equal((await fine(bob.from('secrets').delete({ count: 'exact' }).eq('owner', 'ada'))).count, 0)
  assert.deepEqual(await rows(anonymous.from('secrets').select()), [])
  assert.deepEqual(await rows(db.from('secrets').select('body')), [{ body: 'hers' }])
  assert.equal((await fine(ada.from('secrets').delete({ count: 'exact' }).eq('owner', 'ada'))).count, 1)
})
