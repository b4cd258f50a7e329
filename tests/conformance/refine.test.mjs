// The data provider of Refine, an authentication provider over supabase-js, and Refine's live provider, on a running platform.
// Environment: as in clients.mjs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataProvider, liveProvider } from '@refinedev/supabase'
import { db, writing } from './clients.mjs'
import { member } from './auth-people.mjs'

const data = dataProvider(db)
const list = (query) => data.getList({ resource: 'projects', sorters: [{ field: 'id', order: 'asc' }], ...query })
const names = async (query) => (await list(query)).data.map(({ name }) => name)
const filtered = (...filters) => names({ filters })
const filter = (field, operator, value) => ({ field, operator, value })

test('pages of a list have the number of all rows', async () => {
  const page = (currentPage) => list({ pagination: { currentPage, pageSize: 3 } })

  const [first, second] = [await page(1), await page(2)]

  assert.deepEqual([first.data.map(({ id }) => id), first.total], [[1, 2, 3], 4])
  assert.deepEqual([second.data.map(({ id }) => id), second.total], [[4], 4])
  assert.equal((await list({ pagination: { mode: 'off' } })).data.length, 4)
})

test('a list counts as meta says', async () => {
  for (const count of ['planned', 'estimated']) {
    const { total } = await list({ meta: { count } })
    assert.ok(Number.isInteger(total) && total > 0, `${count}: ${total}`)
  }
})

test('a list is sorted, by columns of a related row, too', async () => {
  const { data: projects } = await list({ sorters: [{ field: 'budget', order: 'desc' }, { field: 'id', order: 'asc' }] })
  const meta = { select: 'name, tasks(title)' }
  const { data: related } = await list({ sorters: [{ field: 'tasks.title', order: 'asc' }], meta, filters: [filter('id', 'eq', 1)] })

  assert.deepEqual(projects.map(({ id }) => id), [3, 1, 2, 4])
  assert.deepEqual(related, [{ name: 'Delta', tasks: [{ title: 'dredge' }, { title: 'survey' }] }])
})

test('filters of all operators', async () => {
  assert.deepEqual(await filtered(filter('name', 'eq', 'Delta')), ['Delta'])
  assert.deepEqual(await filtered(filter('name', 'ne', 'Delta')), ['Source', 'Falls', 'Lock'])
  assert.deepEqual(await filtered(filter('budget', 'gt', 7), filter('budget', 'lte', 20)), ['Source'])
  assert.deepEqual(await filtered(filter('budget', 'between', [7, 20])), ['Source', 'Lock'])
  assert.deepEqual(await filtered(filter('name', 'in', ['Delta', 'Lock'])), ['Delta', 'Lock'])
  assert.deepEqual(await filtered(filter('name', 'nin', '(Delta,Lock)')), ['Source', 'Falls'])
  assert.deepEqual(await filtered(filter('tags', 'ina', ['mud'])), ['Delta'])
  assert.deepEqual(await filtered(filter('tags', 'nina', ['mud'])), ['Source', 'Falls', 'Lock'])
  assert.deepEqual(await filtered(filter('name', 'contains', 'L')), ['Delta', 'Falls', 'Lock'])
  assert.deepEqual(await filtered(filter('name', 'containss', 'L')), ['Lock'])
  assert.deepEqual(await filtered(filter('name', 'ncontains', '%l%')), ['Source'])
  assert.deepEqual(await filtered(filter('name', 'startswith', 'd')), ['Delta'])
  assert.deepEqual(await filtered(filter('name', 'endswith', 'ce')), ['Source'])
  assert.deepEqual(await filtered(filter('budget', 'null', true)), ['Falls'])
  assert.deepEqual(await filtered(filter('budget', 'nnull', null)), ['Delta', 'Source', 'Lock'])
  assert.deepEqual(await filtered({ operator: 'or', value: [
    filter('name', 'contains', 'elt'), filter('id', 'in', [2]), filter('tags', 'ina', ['mud']), filter('name', 'eq', 'Lock'),
  ] }), ['Delta', 'Source', 'Lock'])
})

test('rows by their ids', async () => {
  const { data: one } = await data.getOne({ resource: 'projects', id: 2 })
  const { data: many } = await data.getMany({ resource: 'projects', ids: [1, 3] })
  const { data: named } = await data.getOne({ resource: 'numbers', id: 7, meta: { idColumnName: 'n' } })

  assert.deepEqual([one.name, many.map(({ name }) => name).sort(), named], ['Source', ['Delta', 'Falls'], { n: 7 }])
})

writing('rows are created, updated and deleted', async () => {
  const resource = 'parcels'
  const { data: box } = await data.create({ resource, variables: { name: 'box', weight: 2 } })
  const { data: more } = await data.createMany({ resource, variables: [{ name: 'crate' }, { name: 'letter' }] })
  const ids = more.map(({ id }) => id)
  assert.deepEqual([box.state, more.map(({ name }) => name)], ['new', ['crate', 'letter']])

  assert.equal((await data.update({ resource, id: box.id, variables: { state: 'sent' } })).data.state, 'sent')
  const { data: changed } = await data.updateMany({ resource, ids, variables: { weight: 9 } })
  assert.deepEqual(changed.map(({ weight }) => weight), [9, 9])

  await data.deleteOne({ resource, id: box.id })
  await data.deleteMany({ resource, ids })
  assert.equal((await data.getList({ resource })).total, 0)
})

writing('errors have the message and the code of the database', async () => {
  await data.create({ resource: 'parcels', variables: { name: 'box' } })

  await assert.rejects(data.create({ resource: 'parcels', variables: { name: 'box' } }), { code: '23505', statusCode: 23505 })
  await assert.rejects(data.getList({ resource: 'missing' }), { code: 'PGRST205' })
})

test('rows of another schema', async () => {
  const meta = { schema: 'warehouse' }
  const { data: made } = await data.create({ resource: 'stock', variables: { thing: 'anchor', amount: 2 }, meta })

  assert.equal((await data.getOne({ resource: 'stock', id: made.id, meta })).data.thing, 'anchor')
  await data.deleteOne({ resource: 'stock', id: made.id, meta })
})

test('users see their own rows', async () => {
  const [own, other] = [await member(), await member()]
  const { data: entry } = await dataProvider(own.client).create({ resource: 'diaries', variables: { entry: 'mine' } })

  assert.equal(entry.owner, own.user.id)
  assert.equal((await dataProvider(own.client).getList({ resource: 'diaries' })).total, 1)
  assert.equal((await dataProvider(other.client).getList({ resource: 'diaries' })).total, 0)
})

test('changes of rows come live', async () => {
  const resource = 'shelf_items'
  const changes = []
  let receive
  const received = new Promise((resolve) => { receive = resolve })
  const live = liveProvider(db)
  const channel = live.subscribe({
    channel: `resources/${resource}`, types: ['created'], params: { filters: [filter('name', 'eq', 'live')] },
    callback: ({ type, payload }) => receive(changes.push([type, payload.name])),
  })
  await new Promise((resolve, reject) => {
    channel.on('system', {}, ({ status, message }) => (status === 'ok' ? resolve() : reject(new Error(message))))
  })

  await data.createMany({ resource, variables: [{ name: 'other' }, { name: 'live' }] })
  await received

  assert.deepEqual(changes, [['created', 'live']])
  await live.unsubscribe(channel)
  await db.realtime.disconnect()
})
