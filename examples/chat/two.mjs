// Two people in one room, without browsers: they see each other come, type, speak and leave, and one loses the connection.
// Environment: API_URL and ANON_KEY, as `headwater status -o env` prints them.
import { randomUUID } from 'node:crypto'
import { createClient } from '@supabase/supabase-js'
import WebSocket from 'ws' // Node 20 has none of its own
import { enter } from './chat.mjs'
import { resuming } from './resuming.mjs'

const { API_URL, ANON_KEY } = process.env
if (!API_URL || !ANON_KEY) {
  console.error('Set the environment first:  set -a; eval "$(headwater status -o env)"; set +a')
  process.exit(2)
}
const room = `room-${randomUUID().slice(0, 8)}`

async function visitor(name) {
  const sockets = []
  class Socket extends resuming(WebSocket) {
    constructor(...given) {
      super(...given)
      sockets.push(this)
    }
  }
  const realtime = { transport: Socket, reconnectAfterMs: () => 200 }
  const client = createClient(API_URL, ANON_KEY, { auth: { persistSession: false }, realtime })
  const { error } = await client.auth.signUp({ email: `${name}-${randomUUID()}@example.com`, password: randomUUID() })
  if (error) throw error
  let view
  const chat = await enter(client, room, name, (now) => { view = now })
  const sees = async (what, holds) => {
    const end = Date.now() + 15_000
    while (!holds(view)) {
      if (Date.now() > end) throw new Error(`${name} does not see ${what}: ${JSON.stringify(view)}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    console.log(`${name} sees ${what}`)
  }
  const breakOff = () => sockets.at(-1).terminate()
  const end = async () => {
    await chat.leave()
    client.realtime.disconnect()
    await client.auth.stopAutoRefresh()
  }
  return { ...chat, sees, breakOff, end, bodies: () => view.messages.map((each) => each.body) }
}

const ada = await visitor('Ada')
await ada.say('Is anybody here?')
const bob = await visitor('Bob')
await bob.sees('what was said before', ({ messages }) => messages[0]?.body === 'Is anybody here?')
await ada.sees('Bob come', ({ people }) => people.join() === 'Ada,Bob')
await bob.type()
await ada.sees('Bob typing', ({ typing }) => typing.includes('Bob'))
await bob.say('I am.')
await ada.sees('what Bob said', ({ messages, typing }) => messages.at(-1).body === 'I am.' && !typing.length)

bob.breakOff()
for (const n of [1, 2, 3]) await ada.say(`${n}`)
await bob.sees('what was said while the connection was away', ({ messages }) => messages.at(-1).body === '3')
if (bob.bodies().join() !== 'Is anybody here?,I am.,1,2,3') throw new Error(`lost or doubled: ${bob.bodies()}`)

await bob.end()
await ada.sees('Bob leave', ({ people }) => people.join() === 'Ada')
await ada.end()
console.log('nothing lost, nothing twice')
process.exit(0)
