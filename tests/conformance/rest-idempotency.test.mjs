// Idempotency-Key by a header of one request, and by headers of a client: a repeat gets the first answer.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { db, failure, fine, rows, withOptions, writing } from './clients.mjs'

const parcels = () => db.from('parcels')
const names = () => rows(parcels().select('name').order('name'))

writing('an insert that is repeated with its key is stored once', async () => {
  const key = randomUUID()
  const insert = () => parcels().insert({ name: 'once' }).select('id, name').setHeader('Idempotency-Key', key)
  const [first, again] = [await fine(insert()), await fine(insert())]
  assert.deepEqual([again.status, again.data], [201, first.data])
  assert.deepEqual(await names(), [{ name: 'once' }])
})

writing('headers of a client, and whether an answer is a repeat', async () => {
  const seen = []
  const noting = async (...given) => {
    const answer = await fetch(...given)
    seen.push(answer.headers.get('idempotency-replayed'))
    return answer
  }
  const one = withOptions({ global: { headers: { 'Idempotency-Key': randomUUID() }, fetch: noting } })
  for (let i = 0; i < 3; i++) await fine(one.from('parcels').insert({ name: 'thrice' }))
  assert.deepEqual(seen, [null, 'true', 'true'])
  assert.deepEqual(await names(), [{ name: 'thrice' }])
})

writing('updates, deletes and errors', async () => {
  const key = () => ['Idempotency-Key', randomUUID()]
  await fine(parcels().insert([{ name: 'a', weight: 1 }, { name: 'b', weight: 2 }]))
  const [update, remove] = [key(), key()]
  for (const _ of [1, 2]) {
    assert.equal((await fine(parcels().update({ weight: 3 }, { count: 'exact' }).eq('weight', 1).setHeader(...update))).count, 1)
    assert.equal((await fine(parcels().delete({ count: 'exact' }).eq('name', 'b').setHeader(...remove))).count, 1)
  }
  const other = await failure(parcels().delete().eq('name', 'a').setHeader(...remove))
  assert.deepEqual([other.status, other.code], [422, 'HW422'])
  assert.deepEqual(await names(), [{ name: 'a' }])
})
