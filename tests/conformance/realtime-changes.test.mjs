// Row changes as the official client sees them: events, filters, columns, policies, errors, reconnects.
// Environment: as in clients.mjs, and TOKEN_WRITER, TOKEN_READER.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import WebSocket from 'ws'
import { resuming } from '../../examples/chat/resuming.mjs'
import { client, following, person, server, until } from './realtime-clients.mjs'

const { ANON_KEY, TOKEN_WRITER, TOKEN_READER } = process.env
const WRITER = '00000000-0000-0000-0000-00000000000a'
const READER = '00000000-0000-0000-0000-00000000000b'
const inTable = (table, more = {}) => ({ event: '*', schema: 'public', table, ...more })
const insert = (table, rows) => server.from(table).insert(rows).throwOnError()
/** A mark that only the rows of one test carry. */
const mark = () => randomUUID()

test('INSERT, UPDATE and DELETE with their rows, in order', async () => {
  const batch = mark()
  const { heard: [all, inserts, updates, deletes] } = await following(client(), [
    inTable('readings_live'), ...['INSERT', 'UPDATE', 'DELETE'].map((event) => inTable('readings_live', { event })),
  ])
  const row = { big: 9007199254740991, batch, num: 1.5, ok: true, tags: ['a', 'b'], doc: { x: [1, null] }, at: '2026-01-02T03:04:05.678+00:00' }
  const { data: [{ id }] } = await server.from('readings_live').insert(row).select('id')
  await server.from('readings_live').update({ num: 2 }).eq('id', id).throwOnError()
  await server.from('readings_live').delete().eq('id', id).throwOnError()
  await until('three changes', () => all.length === 3 && deletes.length === 1)
  assert.deepEqual(all.map((each) => each.eventType), ['INSERT', 'UPDATE', 'DELETE'])
  assert.deepEqual(inserts, [all[0]])
  assert.deepEqual(updates, [all[1]])
  assert.deepEqual(deletes, [all[2]])
  assert.deepEqual({ ...all[0].new }, { id, ...row, raw: null })
  assert.deepEqual(all[0].old, {})
  assert.deepEqual(all[1].old, { id })
  assert.equal(all[1].new.num, 2)
  assert.deepEqual([all[2].new, all[2].old], [{}, { id }])
  assert.match(all[0].commit_timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual([all[0].schema, all[0].table, all[0].errors], ['public', 'readings_live', null])
})

test('the whole old row where the replica identity is full', async () => {
  const batch = mark()
  const { heard: [all] } = await following(client(), [inTable('ledger_live')])
  await insert('ledger_live', { id: 1, batch, amount: 5 })
  await server.from('ledger_live').update({ amount: 6 }).eq('id', 1).throwOnError()
  await server.from('ledger_live').delete().eq('id', 1).throwOnError()
  await until('three changes', () => all.length === 3)
  assert.deepEqual(all[1].old, { id: 1, batch, amount: 5 })
  assert.deepEqual(all[2].old, { id: 1, batch, amount: 6 })
})

test('every filter, and its negation', async () => {
  // Rows: n 1..4, name, flag; row 4 is empty but for its number. Each filter with the rows that pass it.
  const cases = {
    'n=eq.2': [2], 'n=neq.2': [1, 3, 4], 'n=lt.2': [1], 'n=lte.2': [1, 2], 'n=gt.2': [3, 4], 'n=gte.2': [2, 3, 4],
    'n=in.(1,3)': [1, 3], 'name=in.("a,b",Zoe)': [2, 3], 'name=like.%nn%': [1], 'name=like.anna': [], 'name=ilike.anna': [1],
    'flag=is.null': [4], 'flag=is.true': [1], 'flag=is.false': [2, 3], 'flag=is.unknown': [4],
    'name=match.^A': [1], 'name=imatch.^z': [3], 'name=isdistinct.Anna': [2, 3, 4],
    'n=not.eq.2': [1, 3, 4], 'n=not.in.(1,2)': [3, 4], 'name=not.like.A%': [2, 3], 'flag=not.is.null': [1, 2, 3], 'name=not.isdistinct.Anna': [1],
    'n=gt.1,n=lt.4': [2, 3], 'n=gte.1,flag=is.false,name=like.Z%': [3], '': [1, 2, 3, 4],
  }
  const entries = Object.keys(cases).map((filter) => inTable('sieve_live', { event: 'INSERT', filter }))
  const { heard, told } = await following(client(), entries)
  await insert('sieve_live', [
    { n: 1, name: 'Anna', flag: true }, { n: 2, name: 'a,b', flag: false }, { n: 3, name: 'Zoe', flag: false }, { n: 4, name: null, flag: null },
  ])
  await until('all rows', () => heard.at(-1).length === 4)
  const found = Object.fromEntries(Object.keys(cases).map((filter, at) => [filter, heard[at].map((each) => each.new.n)]))
  assert.deepEqual(found, cases)
  assert.deepEqual(told.map((each) => each.status), ['ok'])
})

test('chosen columns, with the key always', async () => {
  const batch = mark()
  const { heard: [some] } = await following(client(), [inTable('readings_live', { filter: `batch=eq.${batch}`, select: ['num'] })])
  await insert('readings_live', { batch, num: 3, ok: true })
  await until('a change', () => some.length === 1)
  assert.deepEqual(Object.keys(some[0].new).sort(), ['id', 'num'])
})

test('columns that the role may not select do not come', async () => {
  const { heard: [seen] } = await following(client(), [inTable('staff_live')])
  await insert('staff_live', { id: 1, name: 'Ada', salary: 100 })
  await until('a change', () => seen.length === 1)
  assert.deepEqual(seen[0].new, { id: 1, name: 'Ada' })
})

test('two users get their own rows; all hear of a deletion, its key alone', async () => {
  const body = mark()
  const both = await Promise.all([TOKEN_WRITER, TOKEN_READER].map(async (token) => following(await person(token), [inTable('ticker')])))
  const nobody = await following(client(), [inTable('ticker')])
  await insert('ticker', [{ owner: WRITER, body }, { owner: READER, body }, { owner: WRITER, body: `${body}+` }])
  await server.from('ticker').delete().eq('body', `${body}+`).throwOnError()
  for (const { heard } of [...both, nobody]) await until('the deletion', () => heard[0].some((each) => each.eventType === 'DELETE'))
  const rows = ({ heard: [changes] }) => changes.filter((each) => each.eventType === 'INSERT').map((each) => [each.new.owner, each.new.body])
  assert.deepEqual(rows(both[0]), [[WRITER, body], [WRITER, `${body}+`]])
  assert.deepEqual(rows(both[1]), [[READER, body]])
  assert.deepEqual(rows(nobody), [])
  for (const { heard: [changes] } of [...both, nobody]) {
    assert.deepEqual(Object.keys(changes.find((each) => each.eventType === 'DELETE').old), ['id'])
  }
})

test('any table of a schema, and any schema', async () => {
  const batch = mark()
  const { heard: [ofSchema, ofAll] } = await following(client(), [{ event: '*', schema: 'public' }, { event: '*', schema: '*' }])
  await insert('readings_live', { batch })
  await insert('ledger_live', { id: 2, batch })
  const own = (changes) => changes.filter((each) => each.new.batch === batch).map((each) => each.table)
  await until('both', () => own(ofSchema).length === 2 && own(ofAll).length === 2)
  assert.deepEqual(own(ofSchema), ['readings_live', 'ledger_live'])
  assert.deepEqual(own(ofAll), ['readings_live', 'ledger_live'])
})

test('several entries, each with its own handler', async () => {
  const batch = mark()
  const { heard: [high, low, other] } = await following(client(), [
    inTable('readings_live', { filter: `batch=eq.${batch},num=gte.10` }), inTable('readings_live', { filter: `batch=eq.${batch},num=lt.10` }),
    inTable('ledger_live', { filter: `batch=eq.${batch}` }),
  ])
  await insert('readings_live', [{ batch, num: 1 }, { batch, num: 10 }, { batch, num: 2 }])
  await insert('ledger_live', { id: 3, batch })
  await until('all', () => high.length + low.length + other.length === 4)
  assert.deepEqual([high, low].map((changes) => changes.map((each) => each.new.num)), [[10], [1, 2]])
  assert.equal(other[0].new.id, 3)
})

test('what cannot be subscribed to is told, and the rest goes on', async () => {
  const batch = mark()
  const { heard, told } = await following(client(), [
    inTable('no_such_table'), inTable('readings_live', { filter: 'nonsense' }), inTable('readings_live', { filter: 'missing=eq.1' }),
    inTable('readings_live', { filter: 'num=eq.many' }), inTable('readings_live', { filter: `batch=eq.${batch}` }),
  ])
  await until('four errors and a success', () => told.length === 5)
  const errors = told.filter((each) => each.status === 'error').map((each) => each.message)
  assert.equal(errors.length, 4)
  assert.ok(errors.some((each) => each.startsWith('Unable to subscribe to changes with given parameters.') && each.includes('no_such_table')), errors.join('\n'))
  assert.ok(errors.some((each) => each.startsWith('Error parsing `filter` params')), errors.join('\n'))
  assert.ok(told.every((each) => each.extension === 'postgres_changes'))
  await insert('readings_live', { batch })
  await until('the change', () => heard[4].length === 1)
  assert.deepEqual(heard.slice(0, 4), [[], [], [], []])
})

test('another token brings the rows of another person', async () => {
  const body = mark()
  const one = await person(TOKEN_WRITER)
  const { heard: [changes] } = await following(one, [inTable('ticker', { event: 'INSERT' })])
  await insert('ticker', { owner: WRITER, body })
  await until('the first', () => changes.length === 1)
  await one.realtime.setAuth(TOKEN_READER)
  const end = Date.now() + 10_000  // the client is told nothing when the new token holds
  while (!changes.some((each) => each.new.owner === READER) && Date.now() < end) await insert('ticker', { owner: READER, body })
  await insert('ticker', [{ owner: WRITER, body }, { owner: READER, body: 'last' }])
  await until('the last', () => changes.at(-1).new.body === 'last')
  assert.deepEqual(changes.filter((each) => each.new.owner === WRITER).length, 1)
})

test('a channel that was removed hears nothing more', async () => {
  const batch = mark()
  const one = client()
  const { channel, heard: [changes] } = await following(one, [inTable('readings_live', { filter: `batch=eq.${batch}` })])
  const other = await following(client(), [inTable('readings_live', { filter: `batch=eq.${batch}` })])
  await insert('readings_live', { batch })
  await until('the first', () => changes.length === 1)
  assert.equal(await one.removeChannel(channel), 'ok')
  await insert('readings_live', { batch })
  await until('the second', () => other.heard[0].length === 2)
  assert.equal(changes.length, 1)
})

test('a broken connection that resumes loses nothing and doubles nothing', async () => {
  const batch = mark()
  const sockets = []
  class Breakable extends resuming(WebSocket) {
    constructor(...given) {
      super(...given)
      sockets.push(this)
    }
  }
  const one = client(ANON_KEY, { realtime: { transport: Breakable, reconnectAfterMs: () => 50 } })
  const { heard: [changes], told } = await following(one, [inTable('readings_live', { event: 'INSERT', filter: `batch=eq.${batch}` })])
  for (let n = 0; n < 60; n += 1) {
    await insert('readings_live', { batch, num: n })
    if (n % 15 === 7) sockets.at(-1).terminate()
    if (n % 15 === 9) await until('a new socket', () => sockets.at(-1).readyState === WebSocket.OPEN)
  }
  await until('the last', () => changes.at(-1)?.new.num === 59)
  assert.deepEqual(changes.map((each) => each.new.num), [...Array(60).keys()])
  assert.ok(sockets.length > 3)
  assert.deepEqual(told.filter((each) => each.status === 'error'), [])
})
