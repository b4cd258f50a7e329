// Clients with sockets of their own for the tests of realtime, and ways to wait for what comes.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after } from 'node:test'
import { withKey } from './clients.mjs'

const { ANON_KEY, SERVICE_ROLE_KEY } = process.env
const PATIENCE_MS = 15_000
const opened = []

/** A client with a socket of its own. */
export const client = (key = ANON_KEY, options = {}) => {
  const one = withKey(key, options)
  opened.push(one)
  return one
}
/** A client of whom a token names. */
export const person = async (token) => {
  const one = client()
  await one.realtime.setAuth(token)
  return one
}
/** A trusted server, which writes. */
export const server = withKey(SERVICE_ROLE_KEY)

after(async () => {
  for (const one of opened) {
    await one.removeAllChannels()
    one.realtime.disconnect()
  }
})

/** Subscribe, and wait for the end of it. */
export const subscribed = (channel) => new Promise((resolve, reject) => {
  channel.subscribe((status, error) => {
    if (status === 'SUBSCRIBED') resolve(channel)
    else if (status !== 'CLOSED') reject(Object.assign(new Error(`${status}: ${error?.message}`), { status }))
  })
})

/** Wait until something holds. */
export const until = async (what, check) => {
  const end = Date.now() + PATIENCE_MS
  while (!check()) {
    assert.ok(Date.now() < end, `${what} did not come`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Subscribe to row changes by entries, on a channel that is live when this returns; give what each entry heard. */
export const following = async (one, entries, { name = randomUUID(), config = {} } = {}) => {
  const channel = one.channel(name, { config })
  const heard = entries.map(() => [])
  const told = []
  for (const [at, entry] of entries.entries()) channel.on('postgres_changes', entry, (change) => heard[at].push(change))
  channel.on('system', {}, (each) => told.push(each))
  await subscribed(channel)
  await until('the subscription', () => told.some((each) => each.extension === 'postgres_changes'))
  return { channel, heard, told }
}
