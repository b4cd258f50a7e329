// The functions client against a running platform. Environment: API_URL, ANON_KEY, PUBLISHABLE_KEY, TOKEN_ADA.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createClient, FunctionRegion, FunctionsFetchError, FunctionsHttpError, FunctionsRelayError,
} from '@supabase/supabase-js'
import WebSocket from 'ws'

const { API_URL, ANON_KEY, PUBLISHABLE_KEY, TOKEN_ADA } = process.env
const options = { auth: { persistSession: false, autoRefreshToken: false }, realtime: { transport: WebSocket } }
const withKey = (key, more = {}) => createClient(API_URL, key, { ...options, ...more }).functions
const functions = withKey(ANON_KEY)

const fine = async (name, given, client = functions) => {
  const { data, error, response } = await client.invoke(name, given)
  assert.equal(error, null, error && String(error.message))
  assert.ok(response instanceof Response)
  return data
}

test('an object goes as JSON and comes back as one', async () => {
  const data = await fine('echo', { body: { a: [1, 'ü'] } })
  assert.equal(data.type, 'application/json')
  assert.equal(data.method, 'POST')
  assert.deepEqual(JSON.parse(data.text), { a: [1, 'ü'] })
})

test('texts, blobs, buffers and forms have their types', async () => {
  assert.equal((await fine('echo', { body: 'text' })).type, 'text/plain')
  assert.equal((await fine('echo', { body: new Blob(['x']) })).type, 'application/octet-stream')
  assert.equal((await fine('echo', { body: new Uint8Array([1, 2]).buffer })).type, 'application/octet-stream')
  const form = new FormData()
  form.set('name', 'ada')
  const data = await fine('echo', { body: form })
  assert.match(data.type, /^multipart\/form-data; boundary=/)
  assert.match(data.text, /ada/)
})

test('every method, own headers and the region pass', async () => {
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) assert.equal((await fine('echo', { method })).method, method)
  const data = await fine('echo', { headers: { 'x-own': '1' }, region: FunctionRegion.UsEast1 })
  assert.equal(data.headers['x-own'], '1')
  assert.equal(data.headers['x-region'], 'us-east-1')
  assert.match(data.url, /forceFunctionRegion=us-east-1/)
  assert.ok(new URL(data.url).pathname === '/echo')
})

test('answers are read by their type', async () => {
  assert.equal(await fine('kinds/text'), 'plain')
  assert.deepEqual(await fine('kinds/json'), { a: 1 })
  const blob = await fine('kinds/blob')
  assert.deepEqual([...new Uint8Array(await blob.arrayBuffer())], [1, 2, 3])
  const form = await fine('kinds/form')
  assert.equal(form.get('name'), 'ada')
  const events = await fine('kinds/events')
  assert.ok(events instanceof Response)
  assert.equal(await events.text(), 'data: 1\n\ndata: 2\n\n')
})

test('a function that fails is an error of HTTP with its answer', async () => {
  const { data, error } = await functions.invoke('kinds/teapot')
  assert.equal(data, null)
  assert.ok(error instanceof FunctionsHttpError)
  assert.equal(error.context.status, 418)
  assert.equal(await error.context.text(), 'short and stout')
  const thrown = await functions.invoke('kinds/throw')
  assert.ok(thrown.error instanceof FunctionsHttpError)
  assert.equal((await thrown.error.context.json()).code, 'WORKER_ERROR')
  const missing = await functions.invoke('missing')
  assert.equal(missing.error.context.status, 404)
})

test('a wrong token is an error of the relay', async () => {
  const { error } = await functions.invoke('echo', { headers: { Authorization: `Bearer ${TOKEN_ADA.slice(0, -4)}abcd` } })
  assert.ok(error instanceof FunctionsRelayError)
  assert.equal(error.context.status, 401)
})

test('the token of a person reaches the function, and an opaque key is enough', async () => {
  functions.setAuth(TOKEN_ADA)
  const data = await fine('echo')
  functions.setAuth(ANON_KEY)
  assert.equal(data.headers.authorization, `Bearer ${TOKEN_ADA}`)
  const opaque = await fine('echo', {}, withKey(PUBLISHABLE_KEY))
  assert.equal(opaque.headers.authorization, `Bearer ${ANON_KEY}`)
})

test('a client gives up by its own time and by its signal', async () => {
  const late = await functions.invoke('kinds/slow', { timeout: 200 })
  assert.ok(late.error instanceof FunctionsFetchError)
  const leaving = new AbortController()
  setTimeout(() => leaving.abort(), 100)
  const gone = await functions.invoke('kinds/slow', { signal: leaving.signal })
  assert.ok(gone.error instanceof FunctionsFetchError)
})
