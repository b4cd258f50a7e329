// The published clients of shapes, unchanged, against a running platform. Each applies changes, moves in and moves out.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import * as newest from '@electric-sql/client'
import * as earlier from 'client-1-0-14'
import { preloadShape } from '@electric-sql/react'
import { createCollection } from '@tanstack/db'
import { electricCollectionOptions } from '@tanstack/electric-db-collection'
import { createClient } from '@supabase/supabase-js'

const { API_URL, ANON_KEY, SERVICE_ROLE_KEY } = process.env
const options = { realtime: { transport: class {} } } // older Node has no WebSocket, and none is opened here
const service = createClient(API_URL, SERVICE_ROLE_KEY, options)
const user = createClient(API_URL, ANON_KEY, options)
const url = `${API_URL}/sync/v1/shape`
const headers = {
  apikey: ANON_KEY,
  authorization: async () => `Bearer ${(await user.auth.getSession()).data.session.access_token}`,
}
const ending = new AbortController()
let me

const ok = ({ data, error }) => { assert.equal(error, null); return data }
const insert = (rows) => service.from('sync_notes').insert(rows).then(ok)

/** Wait until a condition is true: looked at when its source changes. */
const until = (subscribe, holds, what) => new Promise((resolve, reject) => {
  let stop = () => {}
  const late = setTimeout(() => { stop(); reject(new Error(`not in time: ${what()}`)) }, 15_000)
  const look = () => { if (holds()) { clearTimeout(late); setImmediate(() => stop()); resolve() } }
  stop = subscribe(look) ?? stop
  look()
})

before(async () => {
  const { data, error } = await user.auth.signUp({ email: `sync-${Date.now()}@example.com`, password: 'a long password' })
  assert.equal(error, null)
  me = data.user.id
  await service.from('sync_members').insert([{ team: 1, member: me }]).then(ok)
  await insert([{ id: 1, team: 1, title: 'one', amount: '12345678901234567890.5' }, { id: 2, team: 2, title: 'not mine', amount: '12345678901234567890.5' }])
})
after(() => ending.abort())

const plain = (client, more = {}) => {
  const stream = new client.ShapeStream({ url, headers, params: { table: 'sync_notes' }, signal: ending.signal, ...more })
  const shape = new client.Shape(stream)
  return {
    titles: () => shape.currentRows.map((row) => row.title).sort(),
    subscribe: (look) => shape.subscribe(look),
    first: () => shape.rows,
  }
}
const react = () => {
  const found = preloadShape({ url, headers, params: { table: 'sync_notes' }, signal: ending.signal })
  let shape
  return {
    titles: () => shape.currentRows.map((row) => row.title).sort(),
    subscribe: (look) => shape.subscribe(look),
    first: async () => { shape = await found; return shape.rows },
  }
}
const tanstack = () => {
  const collection = createCollection(electricCollectionOptions({
    id: 'notes', getKey: (row) => row.id, shapeOptions: { url, headers, params: { table: 'sync_notes' }, signal: ending.signal },
  }))
  return {
    collection,
    titles: () => collection.toArray.map((row) => row.title).sort(),
    subscribe: (look) => { const timer = setInterval(look, 20); return () => clearInterval(timer) },
    first: () => collection.preload(),
  }
}
const kinds = {
  'the newest client': () => plain(newest),
  'the newest client over server-sent events': () => plain(newest, { liveSse: true }),
  'client 1.0.14': () => plain(earlier),
  'React': react,
  'TanStack DB': tanstack,
}

test('every client shows what its user may read, and follows writes and rights', async () => {
  const clients = Object.fromEntries(await Promise.all(Object.entries(kinds).map(async ([name, make]) => [name, await make()])))
  const all = (titles, what) => Promise.all(Object.entries(clients).map(([name, one]) =>
    until(one.subscribe, () => assertEqual(one.titles(), titles), () => `${name}: ${what}, has ${JSON.stringify(one.titles())}`)))
  const assertEqual = (left, right) => JSON.stringify(left) === JSON.stringify(right)
  await Promise.all(Object.values(clients).map((one) => one.first()))
  await all(['one'], 'the first rows')

  await insert([{ id: 3, team: 1, title: 'three' }, { id: 4, team: 2, title: 'hidden' }])
  await all(['one', 'three'], 'an insert')
  await service.from('sync_notes').update({ title: 'tree' }).eq('id', 3).then(ok)
  await service.from('sync_notes').delete().eq('id', 1).then(ok)
  await all(['tree'], 'an update and a delete')

  await service.from('sync_members').insert([{ team: 2, member: me }]).then(ok)
  await all(['hidden', 'not mine', 'tree'], 'rows that came into sight')
  await service.from('sync_members').delete().eq('team', 1).eq('member', me).then(ok)
  await all(['hidden', 'not mine'], 'rows that went out of sight')
  await service.from('sync_notes').update({ team: 1 }).eq('id', 4).then(ok)
  await all(['not mine'], 'a row that was moved away')
})

test('values keep their exact text, and parsers of the client get what they expect', async () => {
  const stream = new newest.ShapeStream({ url, headers, params: { table: 'sync_notes', columns: ['id', 'done', 'amount'] }, subscribe: false })
  const rows = await new newest.Shape(stream).rows

  assert.deepEqual(rows, [{ id: 2n, done: false, amount: '12345678901234567890.5' }])
})

test('TanStack finds the number of a transaction that it waits for', async () => {
  const { collection, first } = tanstack()
  await first()
  await insert([{ id: 9, team: 2, title: 'awaited' }])
  let written
  const found = await new Promise((resolve) => {
    const stream = new newest.ShapeStream({ url, headers, params: { table: 'sync_notes', replica: 'full' }, signal: ending.signal })
    stream.subscribe((messages) => {
      for (const one of messages) if (one.headers.operation === 'update' && one.value.title === 'again') resolve(one)
      if (messages.some((one) => one.headers.control === 'up-to-date') && !written) {
        written = service.from('sync_notes').update({ title: 'again' }).eq('id', 9).then(ok)
      }
    })
  })

  assert.equal(found.old_value.title, 'awaited')
  assert.equal(await collection.utils.awaitTxId(found.headers.txids[0]), true)
})

test('another user’s handle is an unknown one', async () => {
  const stream = new newest.ShapeStream({ url, headers, params: { table: 'sync_notes' }, subscribe: false })
  await new newest.Shape(stream).rows
  const other = createClient(API_URL, ANON_KEY, { ...options, auth: { storageKey: 'other' } })
  const { data } = await other.auth.signUp({ email: `other-${Date.now()}@example.com`, password: 'a long password' })
  const query = new URLSearchParams({ table: 'sync_notes', offset: '0_0', handle: stream.shapeHandle })
  const asked = await fetch(`${url}?${query}`, { headers: { apikey: ANON_KEY, authorization: `Bearer ${data.session.access_token}` } })

  assert.equal(asked.status, 409)
  assert.notEqual(asked.headers.get('electric-handle'), stream.shapeHandle)
  assert.deepEqual(await asked.json(), [{ headers: { control: 'must-refetch' } }])
})
