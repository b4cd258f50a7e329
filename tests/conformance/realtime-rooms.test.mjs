// Rooms beyond the first steps (realtime.test.mjs): messages from the database, presence in private, tokens that end.
// Environment: as in clients.mjs, and TOKEN_WRITER, TOKEN_READER of members of the room `club`, TOKEN_STRANGER, TOKEN_ENDING.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { client, person, server, subscribed, until } from './realtime-clients.mjs'

const { TOKEN_WRITER, TOKEN_READER, TOKEN_STRANGER, TOKEN_ENDING, SERVICE_ROLE_KEY } = process.env
const inPrivate = (more = {}) => ({ config: { private: true, ...more } })
const listening = async (channel, event = '*') => {
  const heard = []
  channel.on('broadcast', { event }, (message) => heard.push(message))
  await subscribed(channel)
  return heard
}

test('changes of a table, sent to a room by a trigger', async () => {
  const heard = await listening((await person(TOKEN_READER)).channel('club', inPrivate()), '*')
  await server.from('orders_live').insert({ id: 1, status: 'new' }).throwOnError()
  await server.from('orders_live').update({ status: 'paid' }).eq('id', 1).throwOnError()
  await server.from('orders_live').delete().eq('id', 1).throwOnError()
  const own = () => heard.filter((each) => each.payload.table === 'orders_live')
  await until('three messages', () => own().length === 3)
  assert.deepEqual(own().map((each) => each.event), ['INSERT', 'UPDATE', 'DELETE'])
  const { old_record, record, operation, schema } = own()[1].payload
  assert.deepEqual({ old_record, record, operation, schema }, {
    old_record: { id: 1, status: 'new' }, record: { id: 1, status: 'paid' }, operation: 'UPDATE', schema: 'public',
  })
})

test('bytes from the database', async () => {
  const heard = await listening((await person(TOKEN_READER)).channel('club', inPrivate()), 'bytes')
  await server.rpc('say_bytes', { hex: '00ff10', event: 'bytes', topic: 'club' }).throwOnError()
  await until('the message', () => heard.length === 1)
  assert.deepEqual([...new Uint8Array(heard[0].payload)], [0, 255, 16])
})

test('public and private rooms of one name are two rooms', async () => {
  const open = await listening(client().channel('club'))
  const closed = await listening((await person(TOKEN_READER)).channel('club', inPrivate()))
  const event = randomUUID()
  const writer = (await person(TOKEN_WRITER)).channel('club', inPrivate({ broadcast: { ack: true } }))
  await subscribed(writer)
  assert.equal(await writer.send({ type: 'broadcast', event, payload: {} }), 'ok')
  await until('the private one', () => closed.some((each) => each.event === event))
  assert.ok(!open.some((each) => each.event === event))
})

test('over HTTP a private room takes messages of those who may write', async () => {
  const event = randomUUID()
  const heard = await listening((await person(TOKEN_READER)).channel('club', inPrivate()), event)
  const sending = async (token) => (await person(token)).channel('club', inPrivate())
  await assert.rejects((await sending(TOKEN_STRANGER)).httpSend(event, { n: 0 }), /Unauthorized|Forbidden/)
  assert.deepEqual(await (await sending(TOKEN_WRITER)).httpSend(event, { n: 1 }), { success: true })
  assert.deepEqual(await client(SERVICE_ROLE_KEY).channel('club', inPrivate()).httpSend(event, { n: 2 }), { success: true })
  await until('two', () => heard.length === 2)
  assert.deepEqual(heard.map((each) => each.payload.n), [1, 2])
})

test('replay gives the last messages of the database, oldest first, and each once', async () => {
  const event = randomUUID()
  for (const n of [1, 2, 3]) await server.rpc('say', { body: { n }, event, topic: 'club' }).throwOnError()
  const since = Date.now() - 60_000
  const heard = await listening((await person(TOKEN_READER)).channel('club', inPrivate({ broadcast: { replay: { since, limit: 2 } } })), event)
  await until('two', () => heard.length >= 2)
  await server.rpc('say', { body: { n: 4 }, event, topic: 'club' }).throwOnError()
  await until('a live one', () => heard.length >= 3)
  assert.deepEqual(heard.map((each) => [each.payload.n, each.meta.replayed ?? false]), [[2, true], [3, true], [4, false]])
})

test('presence in private: who may not write is not shown', async () => {
  const seen = (await person(TOKEN_READER)).channel('club', inPrivate({ presence: { key: 'reader' } }))
  seen.on('presence', { event: 'sync' }, () => {})
  await subscribed(seen)
  const writer = (await person(TOKEN_WRITER)).channel('club', inPrivate({ presence: { key: 'writer' } }))
  await subscribed(writer)
  assert.equal(await writer.track({ at: 1 }), 'ok')
  assert.equal(await seen.track({ at: 2 }), 'error')
  await until('the writer', () => 'writer' in seen.presenceState())
  assert.deepEqual(Object.keys(seen.presenceState()), ['writer'])
})

test('a token that ends closes its channels', async () => {
  const told = []
  const one = await person(TOKEN_ENDING)
  const channel = one.channel(randomUUID())
  channel.on('system', {}, (each) => told.push(each))
  let isClosed = false
  channel._onClose(() => { isClosed = true })
  await subscribed(channel)
  await until('the end', () => isClosed)
  assert.match(told.at(-1).message, /Token has expired \d+ seconds ago/)
})

test('a join with a token that is over is refused', async () => {
  const one = await person(TOKEN_ENDING) // over since the test before
  await assert.rejects(subscribed(one.channel(randomUUID())), /InvalidJWTToken: Token has expired \d+ seconds ago/)
})
