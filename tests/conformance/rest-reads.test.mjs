// select, its counts, order, pages and related rows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { db, fine, rows } from './clients.mjs'

const projects = (columns, options) => db.from('projects').select(columns, options).lte('id', 4)

test('select takes columns, aliases, casts, members and blanks', async () => {
  const found = await rows(projects('id, title:name, budget::text, m:meta->depth->>m,\n started').eq('id', 1))
  assert.deepEqual(found, [{ id: 1, title: 'Delta', budget: '100.50', m: '12', started: '2026-01-05' }])
  const all = await rows(db.from('clients').select().order('id'))
  assert.deepEqual(all, [{ id: 1, name: 'Nile' }, { id: 2, name: 'Rhine' }])
})

test('names with blanks, commas and reserved words', async () => {
  const found = await rows(db.from('odd things').select('"the key", "a,b(c)", select').eq('"a,b(c)"', 'one, (1)'))
  assert.deepEqual(found, [{ 'the key': 1, 'a,b(c)': 'one, (1)', select: 'first' }])
  const last = await rows(db.from('odd things').select('k:"the key"').order('the key', { ascending: false }).limit(1))
  assert.deepEqual(last, [{ k: 2 }])
})

test('aggregates group', async () => {
  const found = await rows(projects('client_id, sum:budget.sum(), n:count()').order('client_id'))
  assert.deepEqual(found, [
    { client_id: 1, sum: 120.5, n: 2 }, { client_id: 2, sum: null, n: 1 }, { client_id: null, sum: 7, n: 1 },
  ])
})

test('order: both ways, nulls at both ends, several columns, a column of a related row', async () => {
  const ids = async (query) => (await rows(query)).map((row) => row.id)
  const all = () => projects('id, clients(name)')
  assert.deepEqual(await ids(all().order('name')), [1, 3, 4, 2])
  assert.deepEqual(await ids(all().order('name', { ascending: false })), [2, 4, 3, 1])
  assert.deepEqual(await ids(all().order('budget', { nullsFirst: true })), [3, 4, 2, 1])
  assert.deepEqual(await ids(all().order('budget', { ascending: false, nullsFirst: false })), [1, 2, 4, 3])
  assert.deepEqual(await ids(all().order('budget', { ascending: false })), [3, 1, 2, 4])
  assert.deepEqual(await ids(all().order('client_id').order('budget', { ascending: true })), [2, 1, 3, 4])
  assert.deepEqual(await ids(all().order('clients(name)', { ascending: false, nullsFirst: false }).order('id')), [3, 1, 2, 4])
  assert.deepEqual(await ids(all().order('meta->depth->m', { nullsFirst: false }).order('id')), [2, 1, 3, 4])
})

test('limit and range', async () => {
  assert.deepEqual(await rows(projects('id').order('id').limit(2)), [{ id: 1 }, { id: 2 }])
  assert.deepEqual(await rows(projects('id').order('id').limit(0)), [])
  assert.deepEqual(await rows(projects('id').order('id').range(1, 2)), [{ id: 2 }, { id: 3 }])
  assert.deepEqual(await rows(projects('id').order('id').range(9, 20)), [])
})

test('a page stops at the most rows that are given out', async () => {
  const first = await rows(db.from('numbers').select('n').order('n'))
  const rest = await rows(db.from('numbers').select('n').order('n').range(1000, 1999))
  assert.equal(first.length, 1000)
  assert.deepEqual([rest.length, rest[0].n, rest.at(-1).n], [500, 1001, 1500])
})

test('counts of all kinds, with rows', async () => {
  const page = await fine(projects('*', { count: 'exact' }).order('id').range(1, 2))
  assert.deepEqual([page.count, page.data.length, page.status, page.statusText], [4, 2, 206, 'Partial Content'])
  const whole = await fine(projects('*', { count: 'exact' }))
  assert.deepEqual([whole.count, whole.status], [4, 200])
  assert.equal((await fine(db.from('numbers').select('*', { count: 'planned' }))).count, 1500)
  assert.equal((await fine(db.from('numbers').select('*', { count: 'estimated' }))).count, 1500)
  assert.equal((await fine(db.from('numbers').select('*', { count: 'estimated' }).lte('n', 10))).count, 10)
  assert.equal((await fine(projects('*'))).count, null)
})

test('counts of all kinds, without rows', async () => {
  for (const [count, expected] of [['exact', 1500], ['planned', 1500], ['estimated', 1500]]) {
    const answer = await fine(db.from('numbers').select('*', { count, head: true }))
    assert.deepEqual([answer.count, answer.data], [expected, null])
  }
  const inner = await fine(projects('*, tasks!inner(*)', { count: 'exact', head: true }).is('tasks.done', false))
  assert.equal(inner.count, 2)
  const without = await fine(projects('*', { head: true }))
  assert.deepEqual([without.count, without.data, without.status], [null, null, 200])
})

test('related rows are embedded both ways', async () => {
  const [delta, source] = await rows(projects('name, clients(name), tasks(title)').order('id').order('id', { referencedTable: 'tasks' }))
  assert.deepEqual(delta, { name: 'Delta', clients: { name: 'Nile' }, tasks: [{ title: 'survey' }, { title: 'dredge' }] })
  assert.deepEqual(source.tasks, [])
  const deep = await rows(db.from('clients').select('name, projects(name, tasks(title))').eq('id', 2))
  assert.deepEqual(deep, [{ name: 'Rhine', projects: [{ name: 'Falls', tasks: [{ title: 'measure' }] }] }])
  const none = await rows(projects('name, clients(name)').eq('id', 4))
  assert.deepEqual(none, [{ name: 'Lock', clients: null }])
})

test('related rows: inner joins, spreads, aliases, hints and counts', async () => {
  const inner = await rows(db.from('clients').select('name, projects!inner(name)').eq('projects.name', 'Falls'))
  assert.deepEqual(inner, [{ name: 'Rhine', projects: [{ name: 'Falls' }] }])
  const spread = await rows(projects('name, ...clients(client:name)').eq('id', 1))
  assert.deepEqual(spread, [{ name: 'Delta', client: 'Nile' }])
  const hinted = await rows(db.from('trips').select('from:clients!trips_origin_fkey(name), to:clients!goal(name)'))
  assert.deepEqual(hinted, [{ from: { name: 'Nile' }, to: { name: 'Rhine' } }])
  const counted = await rows(projects('name, tasks(count)').order('id').limit(2))
  assert.deepEqual(counted, [{ name: 'Delta', tasks: [{ count: 2 }] }, { name: 'Source', tasks: [{ count: 0 }] }])
})

for (const option of ['referencedTable', 'foreignTable']) {
  test(`related rows are ordered, limited and paged, by ${option}`, async () => {
    const titles = async (shape) => (await rows(shape(projects('tasks(title)').eq('id', 1))))[0].tasks.map((task) => task.title)
    const of = { [option]: 'tasks' }
    assert.deepEqual(await titles((q) => q.order('title', of)), ['dredge', 'survey'])
    assert.deepEqual(await titles((q) => q.order('title', { ...of, ascending: false, nullsFirst: true })), ['survey', 'dredge'])
    assert.deepEqual(await titles((q) => q.order('done', of).order('title', of).limit(1, of)), ['dredge'])
    assert.deepEqual(await titles((q) => q.order('title', of).range(1, 1, of)), ['survey'])
  })
}

test('related rows are filtered', async () => {
  const found = await rows(projects('name, tasks(title)').lte('id', 2).is('tasks.done', false).order('id'))
  assert.deepEqual(found, [{ name: 'Delta', tasks: [{ title: 'dredge' }] }, { name: 'Source', tasks: [] }])
})

test('a URL with a thousand keys is answered', async () => {
  const wanted = Array.from({ length: 1000 }, (_, i) => i + 1)
  assert.equal((await rows(db.from('numbers').select('n').in('n', wanted))).length, 1000)
})
