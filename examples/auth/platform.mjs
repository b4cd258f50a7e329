// What the examples share: clients, results, and the letters in the mail catcher of `headwater start`.
// Environment: API_URL, ANON_KEY, SERVICE_ROLE_KEY and MAILPIT_URL, as `headwater status -o env` prints them.
import { randomUUID } from 'node:crypto'
import { createClient } from '@supabase/supabase-js'
import WebSocket from 'ws' // Node 20 has none of its own

const { API_URL, ANON_KEY, SERVICE_ROLE_KEY, MAILPIT_URL } = process.env
if (!API_URL || !ANON_KEY || !SERVICE_ROLE_KEY || !MAILPIT_URL) {
  console.error('Set the environment first:  set -a; eval "$(headwater status -o env)"; set +a')
  process.exit(2)
}

/** What a browser or an app has: the public key. Sessions are kept in memory. */
export const visitor = (auth = {}) => client(ANON_KEY, auth).auth
/** What a server of yours has: the key that may do everything. */
export const admin = client(SERVICE_ROLE_KEY, {}).auth.admin

function client(key, auth) {
  const kept = new Map()
  const storage = {
    getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value), removeItem: (name) => kept.delete(name),
  }
  return createClient(API_URL, key, { auth: { storage, autoRefreshToken: false, ...auth }, realtime: { transport: WebSocket } })
}

export const newAddress = (name) => `${name}-${randomUUID().slice(0, 8)}@example.com`

/** Give the data of a call, or end with its error. */
export async function done(call) {
  const { data, error } = await call
  if (error) throw new Error(`${error.code ?? error.name}: ${error.message}`)
  return data
}

/** Give the error of a call that must be refused. */
export async function refused(call) {
  const { error } = await call
  if (!error) throw new Error('this should have been refused')
  return error
}

/** Say no if something is not as it should be. */
export function check(holds, what) {
  if (!holds) throw new Error(what)
}

/** Wait for a letter to an address; give its subject, the six digits and the link in it. */
export async function letterTo(address) {
  for (let tries = 0; tries < 200; tries += 1) {
    const query = encodeURIComponent(`to:"${address}" is:unread`)
    const { messages } = await (await fetch(`${MAILPIT_URL}/api/v1/search?query=${query}`)).json()
    if (messages.length > 0) {
      const { Subject, Text } = await (await fetch(`${MAILPIT_URL}/api/v1/message/${messages.at(-1).ID}`)).json()
      return { subject: Subject, code: Text.match(/\b\d{6}\b/)?.[0], link: Text.match(/http\S+\/verify\?\S+/)?.[0] }
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`no letter came to ${address}`)
}

/** Open a link as a browser does, and give the address that it is sent on to. `cookies` is a Map that is kept between links. */
export async function opened(link, cookies = new Map()) {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await fetch(link, { redirect: 'manual', headers: cookie ? { cookie } : {} })
  for (const line of answer.headers.getSetCookie()) cookies.set(...line.split(';')[0].split('='))
  const location = answer.headers.get('location')
  if (!location) throw new Error(`${link} answered ${answer.status}: ${await answer.text()}`)
  return new URL(location)
}
