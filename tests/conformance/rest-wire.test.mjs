// Below the queries: headers, cancelled requests, time limits, and requests that are sent again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { db, fine, failure, rows, withKey, withOptions, writing } from './clients.mjs'

const { PUBLISHABLE_KEY, SECRET_KEY } = process.env

const counted = (answers) => {
  const sent = []
  const fetching = async (url, init) => {
    sent.push({ url, headers: new Headers(init.headers) })
    const answer = answers[sent.length - 1]
    if (answer instanceof Error) throw answer
    return answer ?? fetch(url, init)
  }
  return { sent, fetching }
}
const busy = () => new Response('', { status: 503, headers: { 'Retry-After': '0' } })

const until = async (wanted, query) => {
  const deadline = Date.now() + 10_000
  while ((await rows(query())) !== wanted) assert.ok(Date.now() < deadline, `not ${wanted} in time`)
}
const napping = () => db.rpc('is_napping')

test('setHeader sends a header', async () => {
  assert.equal(await rows(db.rpc('header_of', { name: 'x-trip' }).setHeader('X-Trip', 'to the sea')), 'to the sea')
  const added = db.from('parcels').insert({ name: 'in Tokyo' }).select('made_at').rollback()
  assert.deepEqual(await rows(added.setHeader('Prefer', 'return=representation, timezone=Asia/Tokyo, tx=rollback')),
    [{ made_at: '2026-03-01T21:00:00+09:00' }])
})

test('keys of the newer kind', async () => {
  assert.deepEqual(await rows(withKey(PUBLISHABLE_KEY).from('clients').select('id').eq('id', 1)), [{ id: 1 }])
  assert.equal((await failure(withKey(PUBLISHABLE_KEY).from('hidden').select())).code, '42501')
  assert.deepEqual(await rows(withKey(SECRET_KEY).from('hidden').select()), [])
  assert.equal((await failure(withKey('sb_secret_not_ours').from('clients').select())).status, 401)
})

test('headers of the client are sent', async () => {
  const one = withOptions({ global: { headers: { 'X-Trip': 'again' } } })
  assert.equal(await rows(one.rpc('header_of', { name: 'x-trip' })), 'again')
  assert.match(await rows(db.rpc('header_of', { name: 'x-client-info' })), /supabase-js/)
})

test('the fetch of a client, and of one query', async () => {
  const [one, other] = [counted([]), counted([])]
  const client = withOptions({ global: { fetch: one.fetching } })
  await fine(client.from('clients').select())
  await fine(client.from('clients', { fetch: other.fetching }).select())
  assert.deepEqual([one.sent.length, other.sent.length], [1, 1])
  assert.ok(other.sent[0].headers.get('apikey'))
})

test('a request that met a busy server is sent again, and says so', async () => {
  const { sent, fetching } = counted([busy(), busy()])
  assert.equal((await rows(db.from('clients', { fetch: fetching }).select())).length, 2)
  assert.deepEqual(sent.map(({ headers }) => headers.get('X-Retry-Count')), [null, '1', '2'])
})

test('retry is switched off for one query, one table and one client', async () => {
  const off = [
    (fetch) => db.from('clients', { fetch }).select().retry(false),
    (fetch) => db.from('clients', { fetch, retry: false }).select(),
    (fetch) => withOptions({ db: { retry: false } }).from('clients', { fetch }).select(),
  ]
  for (const query of off) {
    const { sent, fetching } = counted([busy()])
    assert.deepEqual([(await query(fetching)).status, sent.length], [503, 1])
  }
})

test('a write is never sent again', async () => {
  const { sent, fetching } = counted([busy()])
  assert.equal((await db.from('parcels', { fetch: fetching }).insert({ name: 'once' })).status, 503)
  assert.equal(sent.length, 1)
})

test('a request that is given up ends in the database', async () => {
  const given = new AbortController()
  const answer = db.rpc('nap').abortSignal(given.signal).then((one) => one)
  await until(true, napping)
  given.abort()
  const { status, data, error } = await answer
  assert.deepEqual([status, data], [0, null])
  assert.match(error.message, /^AbortError/)
  assert.match(error.hint, /^Request was aborted/)
  await until(false, napping)
})

test('a request given up before it began is not sent', async () => {
  const { error } = await db.from('clients').select().abortSignal(AbortSignal.abort())
  assert.match(error.message, /^AbortError/)
  await assert.rejects(async () => db.from('clients').select().abortSignal(AbortSignal.abort()).throwOnError(), { name: 'AbortError' })
})

test('the time limit of a client ends a request', async () => {
  const { error } = await withOptions({ db: { timeout: 100 } }).rpc('nap')
  assert.match(error.message, /^AbortError/)
  await until(false, napping)
})

test('a long URL is told when it fails', async () => {
  const { error } = await db.from('clients', { urlLengthLimit: 20 }).select().abortSignal(AbortSignal.abort())
  assert.match(error.hint, /Your request URL is \d+ characters/)
})

test('a hundred requests at once', async () => {
  const wanted = Array.from({ length: 100 }, (_, i) => i + 1)
  const answers = await Promise.all(wanted.map((n) => rows(db.from('numbers').select('n').eq('n', n).single())))
  assert.deepEqual(answers.map(({ n }) => n), wanted)
})

writing('a value of two million signs goes in and comes out', async () => {
  const long = 'wæter '.repeat(333_333)
  assert.equal((await rows(db.from('parcels').insert({ name: 'long', state: long }).select('state').single())).state, long)
  assert.equal((await rows(db.from('parcels').select('state').eq('name', 'long')))[0].state, long)
})
