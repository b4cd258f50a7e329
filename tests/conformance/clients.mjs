// Clients for the tests, and a record of what the tests call on them.
// Environment: API_URL, ANON_KEY, SERVICE_ROLE_KEY, PUBLISHABLE_KEY, SECRET_KEY, TOKEN_ADA, TOKEN_BOB, TOKEN_EXPIRED.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  PostgrestBuilder, PostgrestClient, PostgrestError, PostgrestFilterBuilder, PostgrestQueryBuilder, PostgrestTransformBuilder,
} from '@supabase/postgrest-js'
import { createClient } from '@supabase/supabase-js'
import WebSocket from 'ws'

const { API_URL, ANON_KEY, SERVICE_ROLE_KEY } = process.env

/** Names of methods that were called, and `method.option` for the members of their last argument. */
export const called = new Set()

/** Every public method that the REST client offers, by class. What a class keeps to itself is left out. */
export const offered = {
  PostgrestClient: methodsOf(PostgrestClient, ['decorateFetch']),
  PostgrestQueryBuilder: methodsOf(PostgrestQueryBuilder, ['cloneRequestState']),
  PostgrestFilterBuilder: methodsOf(PostgrestFilterBuilder),
  PostgrestTransformBuilder: methodsOf(PostgrestTransformBuilder),
  PostgrestBuilder: methodsOf(PostgrestBuilder, ['processResponse', 'then']),
  PostgrestError: methodsOf(PostgrestError),
}

// Node 20 has no WebSocket of its own; the client wants one at hand.
const always = { auth: { persistSession: false, autoRefreshToken: false }, realtime: { transport: WebSocket } }

/** A client with a key, and further options. */
export const withKey = (key, options = {}) => createClient(API_URL, key, { ...always, ...options })
export const withOptions = (options) => withKey(SERVICE_ROLE_KEY, options)
export const db = withOptions({})
export const anonymous = withKey(ANON_KEY)
/** A client of the person whom the token names. */
export const as = (token) => withKey(ANON_KEY, { accessToken: async () => token })

/** Await a query that must succeed. */
export const fine = async (query) => {
  const answer = await query
  assert.equal(answer.error, null, JSON.stringify(answer.error))
  assert.equal(answer.success, true)
  return answer
}

/** Await a query and give its rows. */
export const rows = async (query) => (await fine(query)).data

/** Await a query that must fail; give its error with the status beside it. */
export const failure = async (query) => {
  const answer = await query
  assert.notEqual(answer.error, null, `no error, but ${answer.status} ${JSON.stringify(answer.data)}`)
  assert.equal(answer.data, null)
  return { status: answer.status, ...answer.error }
}

/** A test that writes; the tables to write in are empty before and after it. */
export const writing = (name, body) => test(name, async (t) => {
  t.after(async () => {
    await fine(db.from('parcels').delete().gte('id', 0))
    await fine(db.from('readings').delete().gte('hour', 0))
  })
  await body(t)
})

function methodsOf(Class, own = []) {
  const names = Object.getOwnPropertyNames(Class.prototype).filter((name) => name !== 'constructor' && !own.includes(name))
  for (const name of names) record(Class.prototype, name)
  return names
}

function record(prototype, name) {
  const original = prototype[name]
  prototype[name] = function (...given) {
    called.add(name)
    const last = given.at(-1)
    if (last !== null && typeof last === 'object') for (const option of Object.keys(last)) called.add(`${name}.${option}`)
    return original.apply(this, given)
  }
}
