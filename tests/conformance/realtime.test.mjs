// Rooms, presence and row changes as the official client sees them.
// Environment: as in clients.mjs, and TOKEN_WRITER, TOKEN_READER of members of the room `club`, TOKEN_STRANGER of none.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { withKey } from './clients.mjs'

const { ANON_KEY, PUBLISHABLE_KEY, SERVICE_ROLE_KEY, TOKEN_WRITER, TOKEN_READER, TOKEN_STRANGER } = process.env
const WRITER = '00000000-0000-0000-0000-00000000000a'
const PATIENCE_MS = 10_000

const opened = []
/** A client with a socket of its own. */
const client = (key = ANON_KEY, realtime = {}) => {
  const one = withKey(key)
  Object.assign(one.realtime, realtime)
  opened.push(one)
  return one
}
const person = async (token) => {
  const one = client()
  await one.realtime.setAuth(token)
  return one
}
after(async () => {
  for (const one of opened) {
    await one.removeAllChannels()
    one.realtime.disconnect()
  }
})

/** Subscribe, and wait for the end of it. */
const subscribed = (channel) => new Promise((resolve, reject) => {
  channel.subscribe((status, error) => {
    if (status === 'SUBSCRIBED') resolve(channel)
    else if (status !== 'CLOSED') reject(Object.assign(new Error(`${status}: ${error?.message}`), { status }))
  })
})
/** Something that is waited for: `got(value)` is called when it comes. */
const coming = (what) => {
  let got
  const value = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what} did not come`)), PATIENCE_MS)
    got = (each) => { clearTimeout(timer); resolve(each) }
  })
  return { got, value }
}
const until = async (what, check) => {
  const end = Date.now() + PATIENCE_MS
  while (!check()) {
    assert.ok(Date.now() < end, `${what} did not come`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('a broadcast reaches the others, with any payload', async () => {
  const name = randomUUID()
  const [sender, other] = [client().channel(name), client(PUBLISHABLE_KEY).channel(name)]
  const heard = []
  sender.on('broadcast', { event: '*' }, (message) => heard.push(['self', message]))
  other.on('broadcast', { event: 'move' }, (message) => heard.push(['other', message]))
  await subscribed(sender)
  await subscribed(other)
  assert.equal(await sender.send({ type: 'broadcast', event: 'move', payload: { x: 1, s: 'ü' } }), 'ok')
  await sender.send({ type: 'broadcast', event: 'move', payload: new Uint8Array([0, 255]).buffer })
  await until('two broadcasts', () => heard.length === 2)
  assert.deepEqual(heard[0], ['other', { type: 'broadcast', event: 'move', payload: { x: 1, s: 'ü' } }])
  assert.deepEqual(new Uint8Array(heard[1][1].payload), new Uint8Array([0, 255]))
})

test('ack and self', async () => {
  const channel = client().channel(randomUUID(), { config: { broadcast: { ack: true, self: true } } })
  const own = coming('the own broadcast')
  channel.on('broadcast', { event: 'e' }, own.got)
  await subscribed(channel)
  assert.equal(await channel.send({ type: 'broadcast', event: 'e', payload: { n: 1 } }), 'ok')
  assert.deepEqual((await own.value).payload, { n: 1 })
})

test('a broadcast over HTTP, with and without a subscription', async () => {
  const name = randomUUID()
  const listening = client().channel(name)
  const heard = []
  listening.on('broadcast', { event: '*' }, (message) => heard.push(message))
  await subscribed(listening)
  const sending = client().channel(name)
  assert.deepEqual(await sending.httpSend('one', { n: 1 }), { success: true })
  await until('the first', () => heard.length === 1)
  assert.deepEqual(heard.map((each) => [each.event, each.payload]), [['one', { n: 1 }]])
})

test('presence of three clients: sync, join and leave', async () => {
  const name = randomUUID()
  const keys = ['ada', 'bob', 'cyn']
  const events = []
  const channels = await Promise.all(keys.map(async (key) => {
    const channel = client().channel(name, { config: { presence: { key } } })
    channel.on('presence', { event: 'sync' }, () => {})
    if (key === 'ada') {
      channel.on('presence', { event: 'join' }, ({ key: who, newPresences }) => events.push(['join', who, newPresences.length]))
      channel.on('presence', { event: 'leave' }, ({ key: who }) => events.push(['leave', who]))
    }
    return subscribed(channel)
  }))
  for (const [at, channel] of channels.entries()) assert.equal(await channel.track({ at }), 'ok')
  for (const channel of channels) await until('all three', () => Object.keys(channel.presenceState()).length === 3)
  assert.deepEqual(Object.keys(channels[0].presenceState()).sort(), keys)
  assert.equal(channels[2].presenceState().bob[0].at, 1)
  assert.equal(await channels[1].untrack(), 'ok')
  await until('two', () => Object.keys(channels[0].presenceState()).length === 2)
  await channels[2].unsubscribe()
  await until('one', () => Object.keys(channels[0].presenceState()).length === 1)
  assert.deepEqual(events.filter(([kind]) => kind === 'leave').map(([, who]) => who), ['bob', 'cyn'])
  assert.deepEqual(events.filter(([kind]) => kind === 'join').map(([, who]) => who).sort(), keys)
})

test('a private channel lets members in, and writers among them send', async () => {
  const config = { config: { private: true, broadcast: { ack: true } } }
  const writer = (await person(TOKEN_WRITER)).channel('club', config)
  const reader = (await person(TOKEN_READER)).channel('club', { config: { private: true } })
  const stranger = (await person(TOKEN_STRANGER)).channel('club', config)
  const heard = []
  reader.on('broadcast', { event: '*' }, (message) => heard.push(message.event))
  writer.on('broadcast', { event: '*' }, (message) => heard.push(`writer: ${message.event}`))
  await subscribed(writer)
  await subscribed(reader)
  await assert.rejects(subscribed(stranger), /Unauthorized: You do not have permissions to read from this Channel topic: club/)
  await reader.send({ type: 'broadcast', event: 'denied', payload: {} })
  assert.equal(await writer.send({ type: 'broadcast', event: 'allowed', payload: {} }), 'ok')
  await until('a broadcast', () => heard.length > 0)
  assert.deepEqual(heard, ['allowed'])
})

test('setAuth changes who one is', async () => {
  const one = await person(TOKEN_WRITER)
  const channel = one.channel('club', { config: { private: true } })
  await subscribed(channel)
  const closed = coming('the end of the channel')
  channel._onClose(closed.got)
  await one.realtime.setAuth(TOKEN_STRANGER)
  await closed.value
})

test('a message from the database', async () => {
  const channel = (await person(TOKEN_READER)).channel('club', { config: { private: true } })
  const heard = coming('the message')
  channel.on('broadcast', { event: 'stored' }, heard.got)
  await subscribed(channel)
  const server = client(SERVICE_ROLE_KEY)
  await server.rpc('say', { body: { n: 1 }, event: 'stored', topic: 'club' }).throwOnError()
  const message = await heard.value
  assert.equal(message.payload.n, 1)
  assert.ok(message.meta.id)
  const { value, got } = coming('the message once more')
  const later = (await person(TOKEN_READER)).channel('club', { config: { private: true, broadcast: { replay: { since: 0, limit: 1 } } } })
  later.on('broadcast', { event: 'stored' }, got)
  await subscribed(later)
  assert.deepEqual((await value).meta, { id: message.meta.id, replayed: true })
})

test('row changes of the rows that a person may read', async () => {
  const channel = (await person(TOKEN_WRITER)).channel(randomUUID())
  const run = randomUUID() // other tests write in this table too, some in the name of this person
  const heard = []
  const told = []
  channel.on('postgres_changes', { event: '*', schema: 'public', table: 'ticker' }, (change) => {
    if (change.new.body?.endsWith(run)) heard.push(change)
  })
  channel.on('system', {}, (each) => each.extension === 'postgres_changes' && told.push(each.message))
  await subscribed(channel)
  await until('the subscription', () => told.includes('Subscribed to PostgreSQL'))
  const server = client(SERVICE_ROLE_KEY)
  const insert = async (owner, body) => (await server.from('ticker').insert({ owner, body: body + run }).select('id').single().throwOnError()).data.id
  await insert(randomUUID(), 'of somebody else')
  const id = await insert(WRITER, 'first')
  await server.from('ticker').update({ body: 'second' + run }).eq('id', id).throwOnError()
  await until('two changes', () => heard.length >= 2)
  assert.deepEqual(heard.map((each) => [each.eventType, each.new.body]), [['INSERT', 'first' + run], ['UPDATE', 'second' + run]])
  assert.equal(heard[0].errors, null)
})
